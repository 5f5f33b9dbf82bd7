/** What needs Nest and TypeORM, in one place to load. */
export { loadModule } from './app-module.js';
export { withApp } from './open-app.js';
export { tablesOnly } from './tables-only.js';
