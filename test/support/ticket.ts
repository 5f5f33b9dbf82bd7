import { SubjectLoader, type LoadsSubject } from 'nestjs-pg-workflows';

/** What a run is about that has to be about something: an id, in no table. */
export class Ticket {
  constructor(readonly id: string) {}
}

@SubjectLoader(Ticket)
export class TicketLoader implements LoadsSubject<Ticket> {
  async load(id: string) {
    return new Ticket(id);
  }
}
