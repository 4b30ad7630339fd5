// What the overview reads at once. public/early.js asks for it before this code is there.
export const CLUSTER = '/v1/cluster';
export const NODES = '/v1/nodes?brief=1&limit=10000';
export const WAITING = '/v1/jobs?state=waiting,held&limit=8';
