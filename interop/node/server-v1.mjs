// The fixture on the TypeScript SDK 1.x:   node server-v1.mjs stdio | http
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod/v4';
import { body, form, hello, listen, names, question, slow, state, template, text, uri, visitId, visitUrl } from './fixture.mjs';

function build() {
  const s = new McpServer(
    { name: 'ts-v1-fixture', version: '1.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true }, prompts: {}, resources: { subscribe: true, listChanged: true }, completions: {} } },
  );
  plain(s);
  s.registerTool('change', {}, () => {
    const name = `extra-${state.extras.length + 1}`;
    state.extras.push(name);
    s.registerTool(name, {}, () => text(''));
    return text(name);
  });
  s.registerTool('touch', {}, async () => {
    await s.server.sendResourceUpdated({ uri });
    return text('touched');
  });
  for (const name of state.extras) s.registerTool(name, {}, () => text(''));
  asking(s);
  other(s);
  s.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
  s.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));
  return s;
}

function plain(s) {
  s.registerTool('echo', { inputSchema: { text: z.string() } }, (args) => text(args.text));
  s.registerTool('big', { inputSchema: { n: z.number() }, outputSchema: { n: z.number() } }, (args) => ({
    ...text(JSON.stringify(args)),
    structuredContent: args,
  }));
  s.registerTool('fail', {}, () => {
    throw new Error('deliberate failure');
  });
  s.registerTool('state', {}, () => text(`started=${state.started} cancelled=${state.cancelled}`));
  s.registerTool('slow', {}, (extra) => slow(extra.signal));
  s.registerTool('progress', {}, async (extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let i = 1; progressToken !== undefined && i <= 3; i++) {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: i, total: 3, message: 'step' } });
    }
    return text('done');
  });
  s.registerTool('log', {}, async (extra) => {
    await s.sendLoggingMessage({ level: 'warning', logger: 'fixture', data: 'a warning' }, extra.sessionId);
    return text('logged');
  });
}

function asking(s) {
  s.registerTool('ask', { inputSchema: { decline: z.boolean().optional() } }, async ({ decline }, extra) => {
    const answer = await s.server.elicitInput(
      { mode: 'form', message: question(decline), requestedSchema: form },
      { relatedRequestId: extra.requestId },
    );
    return text(answer.action === 'decline' ? 'declined' : hello(answer.content));
  });
  s.registerTool('visit', {}, async (extra) => {
    const answer = await s.server.elicitInput(
      { mode: 'url', message: 'Please visit', url: visitUrl, elicitationId: visitId },
      { relatedRequestId: extra.requestId },
    );
    return text(answer.action === 'accept' ? 'visited' : answer.action);
  });
}

function other(s) {
  s.registerResource('static', uri, { mimeType: 'text/plain' }, () => ({ contents: [{ uri, text: 'static text' }] }));
  s.registerResource(
    'item',
    new ResourceTemplate(template, { list: undefined, complete: { id: names } }),
    { mimeType: 'text/plain' },
    (u, vars) => ({ contents: [{ uri: u.href, text: `item ${vars.id}` }] }),
  );
  s.registerPrompt('greet', { argsSchema: { name: completable(z.string(), names) } }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }],
  }));
}

function http() {
  const sessions = new Map();
  const server = createServer(async (req, res) => {
    const parsed = await body(req);
    const id = req.headers['mcp-session-id'];
    if (id && sessions.has(id)) return sessions.get(id).handleRequest(req, res, parsed);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (sid) => void sessions.set(sid, transport),
      onsessionclosed: (sid) => void sessions.delete(sid),
    });
    await build().connect(transport);
    return transport.handleRequest(req, res, parsed);
  });
  listen(server);
}

if (process.argv[2] === 'http') http();
else await build().connect(new StdioServerTransport());
