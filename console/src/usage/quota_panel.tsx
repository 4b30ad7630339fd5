// The limits that hold for whoever is signed in: what is used of each, and who may raise it.
import { useQuery } from '../api/query';
import { Empty, Meter, Panel, Skeleton, Table, Trouble } from '../elements/elements';
import { words } from '../elements/format';
import { amount, ofOneJob, resourceName, type Quota } from './quota';

const COLUMNS = ['Limit of', 'What', 'Used', 'Limit', 'Who may raise it'];

function used(one: Quota): string {
  const text = amount(one.resource, one.used);
  return one.over ? `${text}, over by ${amount(one.resource, one.over)}` : text;
}

export function QuotaPanel() {
  const { data, error } = useQuery<{ quota: Quota[] }>('/v1/quota', ['jobs', 'objects']);
  return (
    <Panel title="Your limits">
      <Trouble error={error} />
      {!data && !error && <Skeleton lines={2} />}
      {data && data.quota.length === 0 && <Empty title="No limit holds for you but what the nodes have." />}
      {data && data.quota.length > 0 && (
        <Table
          label="Your limits"
          head={COLUMNS.map((name) => (
            <th key={name}>{name}</th>
          ))}
        >
          {data.quota.map((one) => (
            <tr key={`${one.level} ${one.name} ${one.resource}`}>
              <td>
                {words(one.level)} {one.name}
              </td>
              <td>{resourceName(one.resource)}</td>
              <td className="with-meter">
                {ofOneJob(one.resource) ? '–' : used(one)}
                {!ofOneJob(one.resource) && (
                  <Meter
                    part={one.used}
                    whole={one.limit}
                    label={`${amount(one.resource, one.used)} of ${amount(one.resource, one.limit)} used`}
                  />
                )}
              </td>
              <td>{amount(one.resource, one.limit)}</td>
              <td>{one.raised_by}</td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
