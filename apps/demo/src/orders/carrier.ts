import { Injectable } from '@nestjs/common';

export class RouteClosed extends Error {}

export interface Parcel {
  readonly tracking: string;
  readonly destination: string;
  readonly key: string;
}

/** Stands for a parcel service. It honours idempotency keys, and does not sail in a storm. */
@Injectable()
export class Carrier {
  readonly parcels: Parcel[] = [];
  private readonly closed = new Set(['Tórshavn']);

  async book(destination: string, { idempotencyKey: key }: { idempotencyKey: string }): Promise<Parcel> {
    if (this.closed.has(destination)) throw new RouteClosed(`no ship sails to ${destination}: storm`);
    const before = this.parcels.find((parcel) => parcel.key === key);
    if (before) return before;
    const parcel = { tracking: `parcel-${this.parcels.length + 1}`, destination, key };
    this.parcels.push(parcel);
    return parcel;
  }

  reopen(destination: string): void {
    this.closed.delete(destination);
  }
}
