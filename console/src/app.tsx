// The pages, by path.
import { lazy, Suspense, useEffect } from 'react';
import { Route, Switch, useLocation } from 'wouter';
import { Empty, Page, Skeleton } from './elements/elements';
import { Frame } from './frame/frame';
import { JobPage } from './jobs/job_page';
import { JobsPage } from './jobs/jobs_page';
import { OverviewPage } from './overview/overview_page';
import { DevicePage } from './session/device_page';
import { EnterPage } from './session/enter_page';
import { SessionGate, type SignedIn } from './session/session';

const SubmitPage = lazy(() => import('./jobs/submit_page'));
const NodesPage = lazy(() => import('./nodes/nodes_page'));
const NodePage = lazy(() => import('./nodes/node_page'));
const QueuesPage = lazy(() => import('./queues/queues_page'));
const PlanPage = lazy(() => import('./plan/plan_page'));
const UsagePage = lazy(() => import('./usage/usage_page'));
const PeoplePage = lazy(() => import('./people/people_page'));
const SessionsPage = lazy(() => import('./sessions/sessions_page'));
const StartPage = lazy(() => import('./sessions/start_page'));
const AuditPage = lazy(() => import('./audit/audit_page'));
const OwnPage = lazy(() => import('./own/own_page'));

const TITLES: Record<string, string> = {
  '': 'Overview',
  jobs: 'Jobs',
  submit: 'Submit',
  nodes: 'Nodes',
  queues: 'Queues',
  plan: 'Plan',
  usage: 'Usage',
  people: 'People',
  sessions: 'Sessions',
  audit: 'Audit',
  you: 'Your page',
  device: 'Let a program in',
  enter: 'Session',
};

function useTitle() {
  const [location] = useLocation();
  useEffect(() => {
    const [, first = '', second] = location.split('/');
    const title = TITLES[first] ?? 'Dovetail';
    document.title = `${second ? `${title.replace(/s$/, '')} ${decodeURIComponent(second)}` : title} · Dovetail`;
  }, [location]);
}

function Pages() {
  useTitle();
  return (
    <Suspense fallback={<Skeleton />}>
      <Switch>
        <Route path="/" component={OverviewPage} />
        <Route path="/jobs" component={JobsPage} />
        <Route path="/jobs/:id/:tab?">{({ id, tab }) => <JobPage key={id} id={id} tab={tab} />}</Route>
        <Route path="/submit" component={SubmitPage} />
        <Route path="/nodes" component={NodesPage} />
        <Route path="/nodes/:name">{({ name }) => <NodePage key={name} name={decodeURIComponent(name)} />}</Route>
        <Route path="/queues" component={QueuesPage} />
        <Route path="/plan" component={PlanPage} />
        <Route path="/usage" component={UsagePage} />
        <Route path="/sessions" component={SessionsPage} />
        <Route path="/sessions/start" component={StartPage} />
        <Route path="/people" component={PeoplePage} />
        <Route path="/audit" component={AuditPage} />
        <Route path="/you" component={OwnPage} />
        <Route path="/device" component={DevicePage} />
        <Route path="/enter/:id">{({ id }) => <EnterPage key={id} id={id} />}</Route>
        <Route>
          <Page title="Nothing here">
            <Empty title="There is no such page.">
              <p>The navigation leads to those that there are.</p>
            </Empty>
          </Page>
        </Route>
      </Switch>
    </Suspense>
  );
}

export function App({ first }: { first: SignedIn }) {
  return (
    <SessionGate first={first}>
      <Frame>
        <Pages />
      </Frame>
    </SessionGate>
  );
}
