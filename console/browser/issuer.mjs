// A real sign-in service: oidc-provider (npm), on loopback, in memory. Prints its address. Whoever
// types a name is that person, of the group "ml". It signs in browsers that a Dovetail at any port
// of this machine sends.
import Provider from 'oidc-provider';
import { createServer } from 'node:http';

const server = createServer();
await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
const issuer = `http://127.0.0.1:${server.address().port}`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'dove',
      client_secret: 'a secret of tests',
      application_type: 'native', // its redirect may have any port (RFC 8252, 7.3)
      redirect_uris: ['http://127.0.0.1/v1/sign-in/corp/callback'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
  ],
  claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email'], groups: ['groups'] },
  scopes: ['openid', 'profile', 'email', 'groups'],
  pkce: { required: () => true },
  cookies: { keys: ['of tests'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: id.slice(2), email: `${id}@example.org`, groups: ['ml'] }),
  }),
});

const PAGE = `<!doctype html><html lang="en"><title>Example Corp</title><h1>Example Corp</h1>
<form method="post"><label>Account <input name="account" required></label> <button>Log in</button></form></html>`;

// Nobody is asked whether the cluster may know them.
async function consent(request, response, { params, session }) {
  const grant = new provider.Grant({ clientId: params.client_id, accountId: session.accountId });
  grant.addOIDCScope(params.scope);
  await provider.interactionFinished(
    request,
    response,
    { consent: { grantId: await grant.save() } },
    { mergeWithLastSubmission: true },
  );
}

async function interact(request, response) {
  const details = await provider.interactionDetails(request, response);
  if (details.prompt.name === 'consent') return consent(request, response, details);
  if (request.method === 'GET') return response.writeHead(200, { 'Content-Type': 'text/html' }).end(PAGE);
  let body = '';
  for await (const piece of request) body += piece;
  const account = new URLSearchParams(body).get('account');
  await provider.interactionFinished(request, response, { login: { accountId: `a-${account}` } });
}

server.on('request', (request, response) =>
  request.url.startsWith('/interaction/')
    ? interact(request, response).catch((error) => response.writeHead(500).end(String(error)))
    : provider.callback()(request, response),
);
console.log(issuer);
