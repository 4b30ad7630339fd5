// Verifies an identity token of a job as others do, with jose (npm): from the issuer's name alone.
// TOKEN ISSUER AUDIENCE; prints its claims.
import { createRemoteJWKSet, jwtVerify } from 'jose';

const [token, issuer, audience] = process.argv.slice(2);
const document = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const keys = createRemoteJWKSet(new URL(document.jwks_uri));
const { payload } = await jwtVerify(token, keys, { issuer, audience });
console.log(JSON.stringify(payload));
