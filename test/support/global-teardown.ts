import { stopTestPostgres } from './postgres';

export default stopTestPostgres;
