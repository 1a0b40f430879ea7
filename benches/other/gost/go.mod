module ptunnel.invalid/benches/gost

go 1.24
