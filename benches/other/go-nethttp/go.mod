module plaintext

go 1.21
