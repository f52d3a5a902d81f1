// The runner's end of a TypeScript client: operations come as lines on standard input, what came of them goes out as lines.
import { createInterface } from 'node:readline';
import { person, question } from './fixture.mjs';

const out = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const said = (content) => (content ?? []).map((c) => c.text ?? '').join('');

// drive takes an adapter: connect(target) to a client, on(client, method, f), handle(client, method, f), call(client, params, options),
// subscribe(client, uri), level(client, name).
export function drive(adapter) {
  const running = new Map();
  let client;
  const send = {
    tools: async () => ({ names: (await client.listTools()).tools.map((t) => t.name) }),
    resources: async () => ({ names: (await client.listResources()).resources.map((r) => r.uri) }),
    templates: async () => ({ names: (await client.listResourceTemplates()).resourceTemplates.map((r) => r.uriTemplate) }),
    prompts: async () => ({ names: (await client.listPrompts()).prompts.map((p) => p.name) }),
    prompt: async (op) => ({ text: said((await client.getPrompt({ name: op.name, arguments: op.args })).messages.map((m) => m.content)) }),
    read: async (op) => ({ text: said((await client.readResource({ uri: op.name })).contents) }),
    complete: async (op) => {
      const ref = op.ref === 'resource' ? { type: 'ref/resource', uri: op.name } : { type: 'ref/prompt', name: op.name };
      return { names: (await client.complete({ ref, argument: { name: op.arg, value: op.value } })).completion.values };
    },
    level: async (op) => ({ ...(await adapter.level(client, op.name), {}) }),
    subscribe: async (op) => ({ ...(await adapter.subscribe(client, op.name), {}) }),
    call: async (op, signal) => {
      const options = { signal };
      if (op.progress) options.onprogress = (p) => out({ event: 'progress', text: `${p.progress}/${p.total}` });
      const r = await adapter.call(client, { name: op.name, arguments: op.args }, options);
      return { text: said(r.content), structured: r.structuredContent, isError: r.isError ?? false };
    },
  };
  async function perform(op) {
    const stop = new AbortController();
    running.set(op.id, stop);
    try {
      out({ id: op.id, reply: await send[op.do](op, stop.signal) });
    } catch (e) {
      if (typeof e.code === 'number') out({ id: op.id, error: { code: e.code, message: e.message } });
      else out({ id: op.id, failed: String(e) });
    } finally {
      running.delete(op.id);
    }
  }
  async function connect(target) {
    try {
      client = await adapter.make(target);
      wire(adapter, client);
      client.onerror = (e) => out({ event: 'complaint', text: String(e) });
      await adapter.connect(client, target);
      out({ hello: { revision: adapter.revision(client), server: client.getServerVersion()?.name ?? '' } });
    } catch (e) {
      out({ failed: String(e) });
    }
  }
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const op = JSON.parse(line);
      if (op.connect) connect(op.connect);
      else if (op.cancel) running.get(op.cancel)?.abort('given up');
      else perform(op);
    })
    .on('close', async () => {
      await client?.close();
      process.exit(0);
    });
}

function wire(adapter, client) {
  adapter.on(client, 'notifications/tools/list_changed', () => out({ event: 'tools' }));
  adapter.on(client, 'notifications/resources/updated', (n) => out({ event: 'updated', text: n.params.uri }));
  adapter.on(client, 'notifications/message', (n) =>
    out({ event: 'log', text: `${n.params.level} ${n.params.logger} ${JSON.stringify(n.params.data)}` }),
  );
  adapter.handle(client, 'elicitation/create', (r) => {
    if (r.params.mode === 'url') {
      out({ event: 'url', text: r.params.url });
      return { action: 'accept' };
    }
    out({ event: 'form', text: r.params.message });
    if (r.params.message === question(true)) return { action: 'decline' };
    return { action: 'accept', content: person };
  });
}
