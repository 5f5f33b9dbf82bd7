import { applicationOf, runSchematic } from '../../../../../test/support/schematics.js';

const MODULE = `import { Module } from '@nestjs/common';

@Module({})
export class AppModule {}
`;

async function generate(options: object, { esm = false, files = {} }: { esm?: boolean; files?: object } = {}) {
  const application = { 'package.json': esm ? '{"type":"module"}' : '{}', 'src/app.module.ts': MODULE, ...files };
  const { tree, messages } = await runSchematic('workflow', options, applicationOf(application));
  return { tree, messages, made: tree.files.filter((name) => /workflow/.test(name)).toSorted() };
}

describe('nest generate workflow', () => {
  it.each([
    { esm: false, extension: '' },
    { esm: true, extension: '.js' },
  ])('ADD-06 writes a class and its spec, and provides it; ES modules: $esm', async ({ esm, extension }) => {
    const { tree, made } = await generate({ name: 'order-refund' }, { esm });

    expect(made).toEqual([
      '/src/order-refund/order-refund.workflow.spec.ts',
      '/src/order-refund/order-refund.workflow.ts',
    ]);
    expect(tree.readContent('src/order-refund/order-refund.workflow.ts')).toContain(
      'export class OrderRefundWorkflow extends WorkflowOf<null, OrderRefundArgs>',
    );
    const spec = tree.readContent('src/order-refund/order-refund.workflow.spec.ts');
    expect(spec).toContain(`import { OrderRefundWorkflow } from './order-refund.workflow${extension}';`);
    expect(spec).toContain("from 'nestjs-pg-workflows/testing'");
    expect(tree.readContent('src/app.module.ts')).toBe(`import { Module } from '@nestjs/common';
import { OrderRefundWorkflow } from './order-refund/order-refund.workflow${extension}';

@Module({
  providers: [OrderRefundWorkflow]
})
export class AppModule {}
`);
  });

  it.each([
    [{ name: 'OrderWorkflow' }, '/src/order/order.workflow.ts'],
    [{ name: 'order.workflow' }, '/src/order/order.workflow.ts'],
    [{ name: 'order', flat: true }, '/src/order.workflow.ts'],
    [{ name: 'shop/order' }, '/src/shop/order/order.workflow.ts'],
    [{ name: 'order', path: 'shop' }, '/src/shop/order/order.workflow.ts'],
    [{ name: 'order', path: 'shop', flat: true }, '/src/shop/order.workflow.ts'],
    [{ name: 'order', sourceRoot: 'apps/shop/src' }, '/apps/shop/src/order/order.workflow.ts'],
  ])('ADD-06 puts %j where Nest would', async (options, file) => {
    expect((await generate({ spec: false, ...options })).made).toEqual([file]);
  });

  it('ADD-06 provides it in the nearest module, which need not be the root', async () => {
    const files = { 'src/shop/shop.module.ts': MODULE };
    const { tree } = await generate({ name: 'shop/orders/order' }, { files });

    expect(tree.readContent('src/shop/shop.module.ts')).toContain(
      "import { OrderWorkflow } from './orders/order/order.workflow';",
    );
    expect(tree.readContent('src/app.module.ts')).toBe(MODULE);
  });

  it('ADD-06 names the spec by specFileSuffix, and leaves the module alone under skipImport', async () => {
    const { tree, made } = await generate({ name: 'order', specFileSuffix: 'test', skipImport: true });

    expect(made).toContain('/src/order/order.workflow.test.ts');
    expect(tree.readContent('src/app.module.ts')).toBe(MODULE);
  });

  it.each(['', '1order', 12, 'order!', 'or.der', '../order', 'order/', '-order', 'workflow', 'größe'])(
    'ADD-07 refuses the name %j',
    async (name) => {
      await expect(generate({ name })).rejects.toThrow(
        `A workflow cannot be called ${JSON.stringify(String(name))}. Take letters, digits and hyphens`,
      );
    },
  );

  it('ADD-07 refuses to write over a workflow that exists', async () => {
    const files = { 'src/order/order.workflow.ts': 'mine' };
    await expect(generate({ name: 'order' }, { files })).rejects.toThrow('src/order/order.workflow.ts exists already');
  });

  it('ADD-07 refuses to write over a spec that exists, unless it is to write none', async () => {
    const files = { 'src/order/order.workflow.spec.ts': 'mine' };
    await expect(generate({ name: 'order' }, { files })).rejects.toThrow(
      'src/order/order.workflow.spec.ts exists already. Move it, or leave the spec out: --no-spec.',
    );
    const { tree } = await generate({ name: 'order', spec: false }, { files });
    expect(tree.readContent('src/order/order.workflow.spec.ts')).toBe('mine');
  });

  it('ADD-07 refuses a second workflow of one name in an application', async () => {
    const text = `import { Workflow } from 'nestjs-pg-workflows';\nexport class OrderWorkflow {}\n`;
    await expect(generate({ name: 'shop/order' }, { files: { 'src/old/order.workflow.ts': text } })).rejects.toThrow(
      'src/old/order.workflow.ts has a class OrderWorkflow already, and an application has one workflow of a name',
    );
  });

  it('ADD-07 refuses an application in JavaScript', async () => {
    await expect(generate({ name: 'order', language: 'js' })).rejects.toThrow('generates TypeScript only');
  });

  it('ADD-06 says what to do by hand where no module can be edited', async () => {
    const text = MODULE.replace('{}', '{ providers: mine }');
    const edited = await generate({ name: 'order' }, { files: { 'src/order/order.module.ts': text } });
    expect(edited.tree.readContent('src/order/order.module.ts')).toBe(text);
    expect(edited.messages.join()).toMatch(
      /^src\/order\/order\.module\.ts has .* Add OrderWorkflow, from \.\/order\.workflow, to the "providers" of a module\.$/,
    );

    const none = await generate({ name: 'order', sourceRoot: 'lib' });
    expect(none.messages.join()).toBe(
      'No module was found above lib/order/order.workflow.ts. Add OrderWorkflow to the "providers" of one.',
    );
  });
});
