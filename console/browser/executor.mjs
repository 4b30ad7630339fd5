// An executor that is not there: what its adapter would say of a node, for tests of what pages show of a Slurm.
import { call, until } from './api.mjs';

// Somebody's job of it holds `devices` of `node` from now on.
export async function executor(name, node, devices) {
  const { token } = await call('POST', `/v1/users/${name}-1/token?create=1`);
  const declared = { service_account: `${name}-1`, nodes: [node], placeholders: false, queues: { lab: 'default' } };
  await call('PUT', `/v1/objects/executor/${name}`, declared);
  let [number, seen] = [0, 0];
  const says = async (allocations) => {
    const ids = allocations.map(({ id }) => id).join();
    await until(`${name} to be heard`, async () => {
      const said = { incarnation: '0123456789abcdef', number: ++number, seen, wait_s: 0, allocations };
      seen = (await call('POST', `/v1/executors/${name}/sync`, said, token)).version;
      const known = (await call('GET', `/v1/nodes/${node}`)).executors.find((one) => one.name === name);
      return known?.contact === 'answering' && known.foreign.map(({ id }) => id).join() === ids;
    });
  };
  await says([
    {
      ...{ id: '77', node, devices, cores: [0], memory_bytes: 2 ** 30, name: 'folding' },
      ...{ user: 'ada', account: 'lab', partition: 'main', priority: 4000 },
      ends_by: new Date(Date.now() + 3600e3).toISOString().replace(/\.\d+/, ''),
    },
  ]);
  return { says, end: () => call('DELETE', `/v1/objects/executor/${name}`) };
}
