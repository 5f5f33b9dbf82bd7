// @ts-check
// Preloaded (`node --import`) where there is no libfaketime: Date is as far off as SHIFTED_MS says. Nothing but Date is.

const shift = Number(process.env.SHIFTED_MS ?? 0);
const RealDate = Date;

globalThis.Date = /** @type {DateConstructor} */ (
  class extends RealDate {
    /** @param {any[]} parts */
    constructor(...parts) {
      if (parts.length) super(.../** @type {[any]} */ (parts));
      else super(RealDate.now() + shift);
    }

    /** @override */
    static now() {
      return RealDate.now() + shift;
    }
  }
);
