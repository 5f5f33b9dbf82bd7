// @ts-check
// Workflow classes in two builds of one application: what the command-line tool is tried on. The tests' own process works with the old build.

import { fanOut, removedStep, step, SubjectLoader, Workflow, WorkflowJob, WorkflowOf } from 'nestjs-pg-workflows';

class RouteClosed extends Error {
  /** @override */
  name = 'RouteClosed';
}

export class Parcel {
  /** @type {string} */
  id;

  /** @param {string} id */
  constructor(id) {
    this.id = id;
  }
}

const nothing = async () => {};

function oldBuild() {
  /** @extends {WorkflowOf<Parcel, { fails?: boolean, secret?: string }>} */
  class Errand extends WorkflowOf {}
  Workflow({
    name: 'Errand',
    steps: [
      step('pack', async (/** @type {any} */ ctx) => ctx.output({ box: 'secret-box' })),
      step('confirm', nothing, { waitFor: 'confirmed' }),
      step('deliver', async (/** @type {any} */ ctx) => {
        if (ctx.args.fails && ctx.attempt === 1) throw new RouteClosed('no \u001b[31mship\u001b[0m sails:\nstorm');
      }),
      step('rest', nothing, { wait: '1 day' }),
      step('file', nothing),
    ],
  })(Errand);

  class Handout {
    async perform() {}
  }
  WorkflowJob({ name: 'Handout' })(Handout);

  class Distribution extends WorkflowOf {}
  Workflow({
    name: 'Distribution',
    steps: [
      fanOut('handOut', async (_ctx, batch) => {
        for (const _ of [1, 2]) batch.add(Handout, {}, { wait: '1 day' });
      }),
      step('count', nothing),
    ],
  })(Distribution);

  class Legacy extends WorkflowOf {}
  Workflow({ name: 'Legacy', steps: [step('stay', nothing, { waitFor: 'go' })] })(Legacy);

  class Flyer {
    async perform() {}
  }
  WorkflowJob({ name: 'Flyer' })(Flyer);

  class Campaign extends WorkflowOf {}
  Workflow({
    name: 'Campaign',
    steps: [
      fanOut('advertise', async (_ctx, batch) => {
        batch.add(Flyer, {}, { wait: '1 day' });
      }),
      step('count', nothing),
    ],
  })(Campaign);

  class Bell extends WorkflowOf {}
  Workflow({ name: 'Bell', steps: [step('hear', nothing, { waitFor: 'ring' })] })(Bell);

  class Post extends WorkflowOf {}
  Workflow({ name: 'Post', steps: [step('open', nothing, { waitFor: 'letter' })] })(Post);

  return [Errand, Distribution, Handout, Legacy, parcels(), Flyer, Campaign, Bell, Post];
}

/**
 * Without `Legacy`, the jobs, the parcels' loader and the step `deliver`; `confirm` waits no more, `rest`, `wrap` and `advertise` are gravestones; `hear` waits
 * for another signal, and `open` asks a matcher.
 */
function newBuild() {
  class Errand extends WorkflowOf {}
  Workflow({
    name: 'Errand',
    steps: [
      step('pack', nothing),
      removedStep('wrap'),
      step('confirm', nothing),
      removedStep('rest'),
      step('file', nothing),
    ],
  })(Errand);
  class Distribution extends WorkflowOf {}
  Workflow({ name: 'Distribution', steps: [fanOut('handOut', nothing), step('count', nothing)] })(Distribution);
  class Campaign extends WorkflowOf {}
  Workflow({ name: 'Campaign', steps: [removedStep('advertise'), step('count', nothing)] })(Campaign);
  class Bell extends WorkflowOf {}
  Workflow({ name: 'Bell', steps: [step('hear', nothing, { waitFor: 'rang' })] })(Bell);
  const mail = {
    name: 'mail',
    matches: (/** @type {{ name: string }} */ { name }) => ['letter', 'parcel'].includes(name),
  };
  class Post extends WorkflowOf {}
  Workflow({ name: 'Post', steps: [step('open', nothing, { waitFor: mail })] })(Post);
  return [Errand, Distribution, Campaign, Bell, Post];
}

function parcels() {
  class Parcels {
    /** @param {string} id */
    async load(id) {
      return new Parcel(id);
    }
  }
  SubjectLoader(Parcel)(Parcels);
  return Parcels;
}

/** Providers. @type {Record<'old' | 'new', any[]>} */
export const ERRANDS = { old: oldBuild(), new: newBuild() };
