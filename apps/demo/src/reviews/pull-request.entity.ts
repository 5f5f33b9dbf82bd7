import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('pull_requests')
export class PullRequest {
  /** GitHub's. A bigint, which JavaScript reads as text. */
  @PrimaryColumn('bigint')
  id!: string;

  @Column('text')
  repository!: string;

  @Column('integer')
  number!: number;

  @Column('text')
  title!: string;

  @Column('text')
  author!: string;

  @Column('text', { nullable: true })
  reviewer!: string | null;

  @Column('timestamptz', { name: 'closed_at', nullable: true })
  closedAt!: Date | null;

  /** As people write it. */
  get name(): string {
    return `${this.repository}#${this.number}`;
  }
}
