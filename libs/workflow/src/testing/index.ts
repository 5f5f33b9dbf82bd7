/**
 * Helpers that drive runs by hand, in tests.
 *
 * @module nestjs-pg-workflows/testing
 */

export { createWorkflowTester, WorkflowTester } from './workflow.tester.js';
