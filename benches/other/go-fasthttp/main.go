// plaintext LISTEN [CERTIFICATE KEY]: a plaintext server on fasthttp, with TLS 1.3 if a certificate is given.
package main

import (
	"crypto/tls"
	"log"
	"os"

	"github.com/valyala/fasthttp"
)

var body = []byte("Hello, World!")

func main() {
	// Of TLS 1.3's ciphers Go takes one that the client offers, and offers no choice of its own.
	server := &fasthttp.Server{
		Name:      "M",
		Handler:   serve,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13},
	}
	switch len(os.Args) {
	case 2:
		log.Fatal(server.ListenAndServe(os.Args[1]))
	case 4:
		log.Fatal(server.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3]))
	default:
		log.Fatal("usage: plaintext LISTEN [CERTIFICATE KEY]")
	}
}

func serve(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/plaintext" {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	}
	ctx.SetContentType("text/plain")
	ctx.SetBody(body)
}
