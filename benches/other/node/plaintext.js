// node plaintext.js HOST PORT: a plaintext server on node's own http module.
'use strict';

const http = require('node:http');

const [host, port] = process.argv.slice(2);
const body = Buffer.from('Hello, World!');

const server = http.createServer((request, response) => {
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
});
server.listen({ host, port: Number(port), backlog: 4096 });
