// plaintext LISTEN [CERTIFICATE KEY]: a plaintext server on Go's net/http, with TLS if a certificate is given.
package main

import (
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
	switch len(os.Args) {
	case 2:
		log.Fatal(http.ListenAndServe(os.Args[1], mux))
	case 4:
		log.Fatal(http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], mux))
	default:
		log.Fatal("usage: plaintext LISTEN [CERTIFICATE KEY]")
	}
}
