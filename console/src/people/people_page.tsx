// People: users, groups, roles, projects, domains, and keys for programs.
import { Link } from 'wouter';
import { Page } from '../elements/elements';
import { mayAudit } from '../session/may';
import { useSession } from '../session/session';
import { Domains } from './domains';
import { Groups } from './groups';
import { Keys } from './keys';
import { Projects } from './projects';
import { Roles } from './roles';
import { Users } from './users';

export default function PeoplePage() {
  const { me } = useSession();
  return (
    <Page
      title="People"
      detail={<span className="faint">{me.admin ? 'Everybody.' : 'You, and the projects that you are in.'}</span>}
      actions={
        mayAudit(me) && (
          <Link href="/audit" className="button">
            Audit
          </Link>
        )
      }
    >
      <Keys />
      <Users />
      <Groups />
      <Roles />
      <Projects />
      <Domains />
    </Page>
  );
}
