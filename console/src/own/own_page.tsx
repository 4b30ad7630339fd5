// A person's own page: who they are here, how they are written to, and their keys.
import { Empty, Facts, Page, Panel } from '../elements/elements';
import { Keys } from '../people/keys';
import { useSession } from '../session/session';
import { NoticePanel } from './notice_panel';
import { Password } from './password';
import { Secrets } from './secrets';
import { SshKeys } from './ssh_keys';

function Who() {
  const { me } = useSession();
  const roles = me.roles.map((role) => `${role.role} of ${role.level === 'cluster' ? 'the cluster' : role.name}`);
  return (
    <Panel title="Who you are here">
      <Facts
        facts={[
          ['User', me.user || 'the administrator'],
          ['Linux user', me.linux_user || '–'],
          ['Domain', me.domain || '–'],
          ['Roles', roles.join(', ') || (me.admin ? 'administrator' : 'none beyond your own jobs')],
        ]}
      />
    </Panel>
  );
}

export default function OwnPage() {
  const { me } = useSession();
  return (
    <Page title="Your page">
      <Who />
      {me.user ? (
        <>
          <Password user={me.user} />
          <NoticePanel user={me.user} />
          <SshKeys user={me.user} />
          <Secrets user={me.user} />
          <Keys user={me.user} />
        </>
      ) : (
        <Empty title="The administrator’s token is nobody in particular: notices and SSH keys are people’s." />
      )}
    </Page>
  );
}
