// The suite's mock servers listen on every interface. This keeps them on the loopback one, synchronously, because the suite reads the
// port in the same tick.
'use strict';
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  if (typeof args[0] === 'number' && (args.length === 1 || typeof args[1] !== 'string')) {
    const callback = args.find((a) => typeof a === 'function');
    const handle = new (process.binding('tcp_wrap').TCP)(process.binding('tcp_wrap').constants.SERVER);
    const failed = handle.bind('127.0.0.1', args[0]);
    if (failed) throw new Error(`cannot bind 127.0.0.1:${args[0]} (${failed})`);
    return listen.call(this, handle, ...(callback ? [callback] : []));
  }
  return listen.apply(this, args);
};
