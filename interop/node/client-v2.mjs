// The TypeScript SDK 2.x as a client of the runner.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { drive } from './driver.mjs';

let modern;
let level;

drive({
  make(target) {
    modern = target.era === 'modern';
    return new Client(
      { name: 'ts-v2-client', version: '1.0.0' },
      {
        capabilities: { elicitation: { form: {}, url: {} } },
        versionNegotiation: { mode: modern ? { pin: '2026-07-28' } : 'legacy' },
      },
    );
  },
  connect: (client, t) =>
    client.connect(
      t.url
        ? new (t.sse ? SSEClientTransport : StreamableHTTPClientTransport)(new URL(t.url))
        : new StdioClientTransport({ command: t.command[0], args: t.command.slice(1), env: { ...process.env, ...t.env } }),
    ),
  revision: (client) => client.getNegotiatedProtocolVersion(),
  on: (client, method, f) => client.setNotificationHandler(method, f),
  handle: (client, method, f) => client.setRequestHandler(method, f),
  call: (client, params, options) =>
    client.callTool(level && modern ? { ...params, _meta: { 'io.modelcontextprotocol/logLevel': level } } : params, options),
  async level(client, name) {
    level = name;
    if (!modern) await client.setLoggingLevel(name);
  },
  async subscribe(client, uri) {
    if (modern) await client.listen({ toolsListChanged: true, ...(uri ? { resourceSubscriptions: [uri] } : {}) });
    else if (uri) await client.subscribeResource({ uri });
  },
});
