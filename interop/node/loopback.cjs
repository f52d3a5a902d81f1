// Preloaded into published servers, which listen on every interface and tell their port to people: this one keeps them on loopback,
// tells the runner the port, and ends the server when the runner's end of standard input does.
'use strict';
const net = require('node:net');
const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (port, ...rest) {
  if (!/^\d+$/.test(String(port))) return listen.call(this, port, ...rest);
  const then = rest.find((a) => typeof a === 'function');
  this.once('listening', () => process.stdout.write(JSON.stringify({ port: this.address().port }) + '\n'));
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...(then ? [then] : []));
};
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
