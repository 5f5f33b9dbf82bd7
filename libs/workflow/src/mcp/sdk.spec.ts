import { WorkflowConfigurationError } from '../errors.js';
import type { WorkflowMcpModule } from './workflow-mcp.module.js';

const SDK = '@modelcontextprotocol/sdk';
const PARTS = ['server/index.js', 'server/webStandardStreamableHttp.js', 'types.js', 'validation/ajv'];

describe('the SDK, an optional peer', () => {
  const asked: string[] = [];

  beforeEach(() => {
    asked.length = 0;
    jest.resetModules();
    for (const part of PARTS) {
      jest.doMock(`${SDK}/${part}`, () => {
        asked.push(part);
        throw Object.assign(new Error(`Cannot find module '${SDK}/${part}'`), { code: 'MODULE_NOT_FOUND' });
      });
    }
  });
  afterEach(() => {
    for (const part of PARTS) jest.dontMock(`${SDK}/${part}`);
  });

  test('the package loads without it, and so does its entry "mcp"', () => {
    expect(jest.requireActual('../index.js')).toHaveProperty('WorkflowModule');
    expect(jest.requireActual('./index.js')).toHaveProperty('WorkflowMcpModule');
    expect(asked).toEqual([]);
  });

  test('DEF-21 mounting the server without it says what to install', () => {
    const { WorkflowMcpModule: mcp } = jest.requireActual<{ WorkflowMcpModule: typeof WorkflowMcpModule }>(
      './index.js',
    );
    for (const mount of [
      () => mcp.forRoot({ token: 'long enough for a token'.replaceAll(' ', '-') }),
      () => mcp.forRootAsync({ allowUnauthenticated: true, useFactory: () => ({}) }),
    ]) {
      expect(mount).toThrow(/needs @modelcontextprotocol\/sdk .*: npm install @modelcontextprotocol\/sdk$/);
      expect(mount).toThrow(
        expect.objectContaining({ name: WorkflowConfigurationError.name, cause: expect.any(Error) }),
      );
    }
    expect(asked).toContain('server/index.js');
  });
});
