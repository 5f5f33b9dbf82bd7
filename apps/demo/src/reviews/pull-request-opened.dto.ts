import { Type } from 'class-transformer';
import { IsDefined, IsInt, IsNotEmpty, IsString, ValidateNested } from 'class-validator';

class Account {
  @IsString()
  @IsNotEmpty()
  login!: string;
}

class Repository {
  @IsString()
  @IsNotEmpty()
  full_name!: string;
}

class OpenedPullRequest {
  @IsInt()
  id!: number;

  @IsInt()
  number!: number;

  @IsString()
  title!: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => Account)
  user!: Account;
}

/** What we need of GitHub's `pull_request` event with the action `opened`. The rest of it is left out. */
export class PullRequestOpened {
  @IsDefined()
  @ValidateNested()
  @Type(() => OpenedPullRequest)
  pull_request!: OpenedPullRequest;

  @IsDefined()
  @ValidateNested()
  @Type(() => Repository)
  repository!: Repository;

  @IsDefined()
  @ValidateNested()
  @Type(() => Account)
  sender!: Account;
}
