import { Type } from 'class-transformer';
import { IsDate, IsDefined, IsInt, IsNotEmpty, IsString, ValidateNested } from 'class-validator';

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

class SomePullRequest {
  @IsInt()
  id!: number;
}

class OpenedPullRequest extends SomePullRequest {
  @IsInt()
  number!: number;

  @IsString()
  title!: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => Account)
  user!: Account;
}

class ClosedPullRequest extends SomePullRequest {
  @IsDate()
  @Type(() => Date)
  closed_at!: Date;
}

class Review {
  @IsString()
  @IsNotEmpty()
  state!: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => Account)
  user!: Account;
}

/** Who did it. */
class GithubEvent {
  @IsDefined()
  @ValidateNested()
  @Type(() => Account)
  sender!: Account;
}

/** What we need of GitHub's `pull_request` event with the action `opened`. The rest of it is left out. */
export class PullRequestOpened extends GithubEvent {
  @IsDefined()
  @ValidateNested()
  @Type(() => OpenedPullRequest)
  pull_request!: OpenedPullRequest;

  @IsDefined()
  @ValidateNested()
  @Type(() => Repository)
  repository!: Repository;
}

/** Of the same event with the action `closed`. */
export class PullRequestClosed extends GithubEvent {
  @IsDefined()
  @ValidateNested()
  @Type(() => ClosedPullRequest)
  pull_request!: ClosedPullRequest;
}

/** Of the event `pull_request_review`. */
export class PullRequestReviewed extends GithubEvent {
  @IsString()
  @IsNotEmpty()
  action!: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => SomePullRequest)
  pull_request!: SomePullRequest;

  @IsDefined()
  @ValidateNested()
  @Type(() => Review)
  review!: Review;
}
