// plaintext LISTEN [CERTIFICATE KEY]: a plaintext server on Go's net/http, with TLS 1.3 if a certificate is given.
package main

import (
	"crypto/tls"
	"log"
	"net/http"
	"os"
	"strconv"
)

var body = []byte("Hello, World!")

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/plaintext", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Server", "M")
		h.Set("Content-Type", "text/plain")
		h.Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	// Of TLS 1.3's ciphers Go takes one that the client offers, and offers no choice of its own.
	server := &http.Server{Handler: mux, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13}}
	switch len(os.Args) {
	case 2:
		server.Addr = os.Args[1]
		log.Fatal(server.ListenAndServe())
	case 4:
		server.Addr = os.Args[1]
		log.Fatal(server.ListenAndServeTLS(os.Args[2], os.Args[3]))
	default:
		log.Fatal("usage: plaintext LISTEN [CERTIFICATE KEY]")
	}
}
