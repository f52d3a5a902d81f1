// The TypeScript SDK 1.x as a client of the runner.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { drive } from './driver.mjs';

const schemas = {
  'elicitation/create': ElicitRequestSchema,
  'notifications/message': LoggingMessageNotificationSchema,
  'notifications/resources/updated': ResourceUpdatedNotificationSchema,
  'notifications/tools/list_changed': ToolListChangedNotificationSchema,
};
let transport;

drive({
  make: () => new Client({ name: 'ts-v1-client', version: '1.0.0' }, { capabilities: { elicitation: { form: {}, url: {} } } }),
  connect(client, t) {
    transport = t.url
      ? new (t.sse ? SSEClientTransport : StreamableHTTPClientTransport)(new URL(t.url))
      : new StdioClientTransport({ command: t.command[0], args: t.command.slice(1), env: { ...process.env, ...t.env } });
    const set = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (v) => {
      transport.negotiated = v;
      set?.(v);
    };
    return client.connect(transport);
  },
  revision: () => transport.negotiated ?? '',
  on: (client, method, f) => client.setNotificationHandler(schemas[method], f),
  handle: (client, method, f) => client.setRequestHandler(schemas[method], f),
  call: (client, params, options) => client.callTool(params, undefined, options),
  level: (client, name) => client.setLoggingLevel(name),
  subscribe: async (client, uri) => uri && client.subscribeResource({ uri }),
});
