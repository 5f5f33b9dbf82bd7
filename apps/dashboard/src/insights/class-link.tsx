import { PageLink } from '../parts/page-link';

/** A class's name, which leads to its page; the window that is looked at stays. */
export function ClassLink({ name, window }: { name: string; window?: string }) {
  return (
    <PageLink to="/definitions/$name" params={{ name }} search={window === undefined ? {} : { window }} inherit>
      {name}
    </PageLink>
  );
}
