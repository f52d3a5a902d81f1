// What every server of the matrix offers: the same as internal/fixture has it in Go.
export const person = { name: 'Ada', seats: 2 };
export const uri = 'test://static/text';
export const template = 'test://item/{id}';
export const visitUrl = 'https://example.com/visit';
export const visitId = 'visit-7f3a9c51d2e84b60';
export const form = {
  type: 'object',
  properties: { name: { type: 'string' }, seats: { type: 'integer' } },
  required: ['name'],
};
export const state = { started: 0, cancelled: 0, extras: [] };
export const names = (prefix) => (prefix === 'a' ? ['ada', 'alan'] : []);
export const text = (t) => ({ content: [{ type: 'text', text: t }] });
export const question = (decline) => (decline ? 'Refuse this.' : 'Who are you?');
export const hello = (content) => `hello ${content.name}, ${content.seats ?? 0} seats`;

export function slow(signal) {
  state.started++;
  return new Promise((_, reject) => {
    const stop = () => {
      state.cancelled++;
      reject(new Error('cancelled'));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

// port tells the runner where an HTTP server listens; the server ends when the runner's end of standard input does.
export function listen(server) {
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.address().port })));
  process.stdin.resume();
  process.stdin.on('end', () => process.exit(0));
}

export async function body(req) {
  if (req.method !== 'POST') return undefined;
  const parts = [];
  for await (const part of req) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}
