// Leads the browser in to a job's app. The app's origin is not ours, and its page may be hostile: it has sent the browser
// here with a state of its own, and gets a code that is good there alone, once, for that browser.
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { ApiError, change } from '../api/http';
import { Page, Trouble } from '../elements/elements';

interface Entry {
  code: string;
  origin: string;
}

export function EnterPage({ id }: { id: string }) {
  const [error, setError] = useState<ApiError>();

  useEffect(() => {
    const asked = new URLSearchParams(location.search);
    const enter = async () => {
      const entry = await change<Entry>('POST', `/v1/jobs/${encodeURIComponent(id)}/entries`, {
        state: asked.get('state') ?? '',
      });
      const query = new URLSearchParams({ job: id, code: entry.code, path: asked.get('path') ?? '' });
      location.replace(`${entry.origin}/.dove/enter?${query}`);
    };
    enter().catch((problem: unknown) => {
      setError(problem instanceof ApiError ? problem : new ApiError(0, 'failed', String(problem)));
    });
  }, [id]);

  return (
    <Page title={`Session of job ${id}`}>
      {!error && <p role="status">Letting you in …</p>}
      <Trouble error={error} />
      {error && (
        <p>
          <Link href={`/jobs/${encodeURIComponent(id)}`}>The job</Link> says what becomes of it.
        </p>
      )}
    </Page>
  );
}
