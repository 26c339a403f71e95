/** Why a specification could not be read or evaluated: never a verdict on what it was to judge. */

/** A place in the text of a module; lines and columns count from 1. */
export interface Place {
  readonly module: string;
  readonly line: number;
  readonly column: number;
}

export class TlaError extends Error {
  override readonly name = 'TlaError';
  /** Null: not known where it was thrown. */
  readonly place: Place | null;

  constructor(message: string, place?: Place) {
    super(place === undefined ? message : `${place.module}:${place.line}:${place.column}: ${message}`);
    this.place = place ?? null;
  }
}
