module plaintext

go 1.24.0

require github.com/valyala/fasthttp v1.77.0
