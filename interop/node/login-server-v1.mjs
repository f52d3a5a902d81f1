// A protected server on the TypeScript SDK 1.x:   ISSUER=… CHECK=… node login-server-v1.mjs
// CHECK is where the runner says whose a token is, as introspection does.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import express from 'express';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { listen, text } from './fixture.mjs';

const { ISSUER, CHECK } = process.env;
const app = express();
app.use(express.json());
let guards;

// The address is known only once there is a port.
app.use((req, res, next) => {
  guards ??= guardsFor(new URL(`http://${req.headers.host}/mcp`));
  guards(req, res, next);
});

function guardsFor(resource) {
  const router = express.Router();
  router.use(
    mcpAuthMetadataRouter({
      oauthMetadata: { issuer: ISSUER, authorization_endpoint: `${ISSUER}/authorize`, token_endpoint: `${ISSUER}/token`, response_types_supported: ['code'] },
      resourceServerUrl: resource,
      scopesSupported: ['trips'],
    }),
  );
  const verifier = {
    async verifyAccessToken(token) {
      const said = await (await fetch(CHECK, { method: 'POST', body: new URLSearchParams({ token, resource: resource.href }) })).json();
      if (!said.subject) throw new InvalidTokenError('not for this server');
      return { token, clientId: '', scopes: said.scopes, expiresAt: Date.now() / 1000 + 60, resource, extra: said };
    },
  };
  router.use(
    '/mcp',
    requireBearerAuth({ verifier, requiredScopes: ['trips'], resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resource), expectedResource: resource }),
  );
  return router;
}

const sessions = new Map();
app.all('/mcp', async (req, res) => {
  const id = req.headers['mcp-session-id'];
  if (id && sessions.has(id)) return sessions.get(id).handleRequest(req, res, req.body);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (sid) => void sessions.set(sid, transport),
  });
  const server = new McpServer({ name: 'ts-v1-protected', version: '1.0.0' });
  server.registerTool('who', {}, (extra) => text(extra.authInfo.extra.subject));
  await server.connect(transport);
  return transport.handleRequest(req, res, req.body);
});

listen(createServer(app));
