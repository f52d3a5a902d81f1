// The fixture on the TypeScript SDK 2.x:   node server-v2.mjs stdio | http
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired, isLegacyRequest } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';
import { body, form, hello, listen, names, question, slow, state, template, text, uri, visitUrl } from './fixture.mjs';

// notify reaches the listen streams of the HTTP handler, which no single instance does.
let notify;

function build(ctx) {
  const s = new McpServer(
    { name: 'ts-v2-fixture', version: '1.0.0' },
    { capabilities: { logging: {}, tools: { listChanged: true }, prompts: {}, resources: { subscribe: true, listChanged: true }, completions: {} } },
  );
  const shared = notify && ctx?.era === 'modern';
  plain(s);
  s.registerTool('change', {}, () => {
    const name = `extra-${state.extras.length + 1}`;
    state.extras.push(name);
    s.registerTool(name, {}, () => text(''));
    if (shared) notify.toolsChanged();
    return text(name);
  });
  s.registerTool('touch', {}, async () => {
    if (shared) notify.resourceUpdated(uri);
    else await s.server.sendResourceUpdated({ uri });
    return text('touched');
  });
  for (const name of state.extras) s.registerTool(name, {}, () => text(''));
  asking(s);
  other(s);
  if (ctx?.era !== 'modern') {
    s.server.setRequestHandler('resources/subscribe', async () => ({}));
    s.server.setRequestHandler('resources/unsubscribe', async () => ({}));
  }
  return s;
}

function plain(s) {
  s.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, (args) => text(args.text));
  s.registerTool('big', { inputSchema: z.object({ n: z.number() }), outputSchema: z.object({ n: z.number() }) }, (args) => ({
    ...text(JSON.stringify(args)),
    structuredContent: args,
  }));
  s.registerTool('fail', {}, () => {
    throw new Error('deliberate failure');
  });
  s.registerTool('state', {}, () => text(`started=${state.started} cancelled=${state.cancelled}`));
  s.registerTool('slow', {}, (ctx) => slow(ctx.mcpReq.signal));
  s.registerTool('progress', {}, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; progressToken !== undefined && i <= 3; i++) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: i, total: 3, message: 'step' } });
    }
    return text('done');
  });
  s.registerTool('log', {}, async (ctx) => {
    await ctx.mcpReq.log('warning', 'a warning', 'fixture');
    return text('logged');
  });
}

function asking(s) {
  s.registerTool('ask', { inputSchema: z.object({ decline: z.boolean().optional() }) }, ({ decline }, ctx) => {
    const answer = ctx.mcpReq.inputResponses?.who;
    if (!answer) return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: question(decline), requestedSchema: form }) } });
    return text(answer.action === 'decline' ? 'declined' : hello(answer.content));
  });
  s.registerTool('visit', {}, (ctx) => {
    if (ctx.mcpReq.inputResponses?.page?.action === 'accept') return text('visited');
    return inputRequired({ inputRequests: { page: inputRequired.elicitUrl({ message: 'Please visit', url: visitUrl }) } });
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
  s.registerPrompt('greet', { argsSchema: z.object({ name: completable(z.string(), names) }) }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}` } }],
  }));
}

// http serves sessions to the handshake era and the SDK's handler to 2026-07-28, on one endpoint, as its documentation shows.
function http() {
  const handler = createMcpHandler(build, { legacy: 'reject' });
  notify = handler.notify;
  const modern = toNodeHandler(handler);
  const sessions = new Map();
  const server = createServer(async (req, res) => {
    const parsed = await body(req);
    const id = req.headers['mcp-session-id'];
    if (id && sessions.has(id)) return sessions.get(id).handleRequest(req, res, parsed);
    if (!(await isLegacyRequest(await toWebRequest(req, parsed)))) return modern(req, res, parsed);
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (sid) => void sessions.set(sid, transport),
      onsessionclosed: (sid) => void sessions.delete(sid),
    });
    await build({ era: 'legacy' }).connect(transport);
    return transport.handleRequest(req, res, parsed);
  });
  listen(server);
}

if (process.argv[2] === 'http') http();
else serveStdio(build);
