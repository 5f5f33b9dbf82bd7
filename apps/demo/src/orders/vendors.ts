import { Injectable } from '@nestjs/common';

const VENDORS: Record<string, readonly string[]> = {
  teapot: ['potter', 'glazier'],
  kettle: ['coppersmith', 'potter'],
  sieve: ['weaver', 'tinker', 'cooper'],
  samovar: ['coppersmith', 'glazier', 'weaver'],
};

@Injectable()
export class Vendors {
  /** Who makes the parts of this item. */
  of(item: string): readonly string[] {
    return VENDORS[item] ?? [];
  }
}
