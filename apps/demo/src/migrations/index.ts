import { CreateShop1764600000000 } from './1764600000000-create-shop';
import { CreatePullRequests1764600100000 } from './1764600100000-create-pull-requests';

export const DemoMigrations = [CreateShop1764600000000, CreatePullRequests1764600100000];
