// Asks for what the first page shows while the page's own code is still on its way: who is signed in and, on the overview, what it
// reads. src/api/http.ts takes the answers. The list is that of src/overview/first_reads.ts, as a test says.
(() => {
  if (location.hash.startsWith('#code=')) return; // the link of `dove console` signs in before anything is asked
  const early = (globalThis.doveEarly = new Map());
  const read = (path) => {
    const answer = fetch(path, { credentials: 'same-origin', headers: { Accept: 'application/json' } });
    answer.catch(() => undefined); // whoever takes it asks again
    early.set(path, answer);
    return answer;
  };
  const overview = ['/v1/cluster', '/v1/nodes?brief=1&limit=10000', '/v1/jobs?state=waiting,held&limit=8'];
  read('/v1/me').then(
    (answer) => answer.ok && location.pathname === '/' && overview.forEach(read),
    () => undefined,
  );
})();
