export { createWorkflowTester, WorkflowTester } from './workflow.tester.js';
