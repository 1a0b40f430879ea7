// plaintext LISTEN: a plaintext server on fasthttp.
package main

import (
	"log"
	"os"

	"github.com/valyala/fasthttp"
)

var body = []byte("Hello, World!")

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: plaintext LISTEN")
	}
	server := &fasthttp.Server{Name: "M", Handler: serve}
	log.Fatal(server.ListenAndServe(os.Args[1]))
}

func serve(ctx *fasthttp.RequestCtx) {
	if string(ctx.Path()) != "/plaintext" {
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	}
	ctx.SetContentType("text/plain")
	ctx.SetBody(body)
}
