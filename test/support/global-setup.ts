import { startTestPostgres } from './postgres';

export default startTestPostgres;
