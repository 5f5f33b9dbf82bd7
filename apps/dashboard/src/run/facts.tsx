import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ShownRun } from '../api/types';
import { Moment } from '../parts/moment';
import { PageLink } from '../parts/page-link';
import { Subject } from '../parts/subject';
import './facts.css';

/** What is known of the run beside what it does. */
export function Facts({ run }: { run: ShownRun }) {
  return (
    <dl className="facts">
      <Fact name="Subject">
        <Subject subject={run.subject} url={run.subject_url} />
      </Fact>
      <Fact name="Run id">
        <Text span ff="monospace" inherit>
          {run.id}
        </Text>
      </Fact>
      <Fact name="Step">
        {run.step}
        {run.attempt !== null && `, attempt ${run.attempt}`}
      </Fact>
      <Fact name="Created">
        <Moment at={run.created_at} />
      </Fact>
      {run.ended_at && (
        <Fact name="Ended">
          <Moment at={run.ended_at} />
        </Fact>
      )}
      {run.idempotency_key !== null && <Fact name="Idempotency key">{run.idempotency_key}</Fact>}
      {run.rerun_of !== null && (
        <Fact name="Rerun of">
          <PageLink inherit to="/runs/$id" params={{ id: run.rerun_of }}>
            {run.rerun_of}
          </PageLink>
        </Fact>
      )}
      {run.rerun_as !== null && (
        <Fact name="Run again as">
          <PageLink inherit to="/runs/$id" params={{ id: run.rerun_as }}>
            {run.rerun_as}
          </PageLink>
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
