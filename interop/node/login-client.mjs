// A client of the TypeScript SDK that logs in:   node login-client.mjs v1|v2 URL   prints what the tool "who" says.
const [version, url] = process.argv.slice(2);
const sdk =
  version === 'v1'
    ? { ...(await import('@modelcontextprotocol/sdk/client/index.js')), ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')), ...(await import('@modelcontextprotocol/sdk/client/auth.js')) }
    : await import('@modelcontextprotocol/client');

const redirectUrl = 'http://127.0.0.1:1/callback';
const saved = {};
let callback;
const provider = {
  redirectUrl,
  clientMetadata: {
    client_name: `TypeScript ${version}`,
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  state: () => 'the-state',
  clientInformation: () => saved.client,
  saveClientInformation: (c) => void (saved.client = c),
  tokens: () => saved.tokens,
  saveTokens: (t) => void (saved.tokens = t),
  saveCodeVerifier: (v) => void (saved.verifier = v),
  codeVerifier: () => saved.verifier,
  saveDiscoveryState: (d) => void (saved.discovery = d),
  discoveryState: () => saved.discovery,
  // The person is one who agrees at once; the browser would bring the answer to redirectUrl.
  async redirectToAuthorization(to) {
    const answer = await fetch(to, { redirect: 'manual' });
    callback = new URL(answer.headers.get('location')).searchParams;
  },
};

async function connect() {
  const client = new sdk.Client({ name: `ts-${version}`, version: '1.0.0' }, version === 'v2' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {});
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  try {
    await client.connect(transport);
  } catch (e) {
    if (!(e instanceof sdk.UnauthorizedError) || !callback) throw e;
    if (callback.get('state') !== 'the-state') throw new Error('another state');
    if (version === 'v1') await transport.finishAuth(callback.get('code'), callback.get('iss') ?? undefined);
    else await transport.finishAuth(callback);
    callback = undefined;
    return connect();
  }
  return client;
}

const client = await connect();
const result = await client.callTool({ name: 'who', arguments: {} });
console.log(`who: ${result.content[0].text}`);
await client.close();
