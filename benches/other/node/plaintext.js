// node plaintext.js HOST PORT [CERTIFICATE KEY]: a plaintext server on node's own http module, or https if a certificate is given.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');

const [host, port, certificate, key] = process.argv.slice(2);
const body = Buffer.from('Hello, World!');

function answer(request, response) {
  if (request.url !== '/plaintext') {
    response.writeHead(404, { 'Content-Length': 0 });
    return response.end();
  }
  response.writeHead(200, {
    'Server': 'M',
    'Content-Type': 'text/plain',
    'Content-Length': body.length,
  });
  response.end(body);
}

const server = certificate
  ? https.createServer({
      cert: fs.readFileSync(certificate),
      key: fs.readFileSync(key),
      minVersion: 'TLSv1.3',
      ciphers: 'TLS_AES_128_GCM_SHA256',
    }, answer)
  : http.createServer(answer);
server.listen({ host, port: Number(port), backlog: 4096 });
