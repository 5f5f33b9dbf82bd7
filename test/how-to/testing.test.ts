import { ConsoleLogger } from '@nestjs/common';
import { runPage } from '../support/page-code';
import { workflowSuite } from '../support/suite';

/** The page's own tests, on a database of the suite's. */
describe('TEST-01 the page on testing: its examples hold', () => {
  const suite = workflowSuite();

  beforeAll(async () => {
    jest.spyOn(ConsoleLogger.prototype, 'error').mockReturnValue(); // errors of steps that shall fail
    process.env.TEST_DATABASE_URL = suite.database.url;
    await suite.sql('create table orders (id uuid primary key default gen_random_uuid(), total int not null)');
  });
  afterAll(() => jest.restoreAllMocks());

  runPage('docs/testing.md');
});
