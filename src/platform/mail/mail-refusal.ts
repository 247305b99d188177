// Why a mail is not taken, in the words of SMTP: a reply that the sending server reads. A 4xx is tried again later, a 5xx is not.

export class MailRefusal extends Error {
  override readonly name = 'MailRefusal';
  readonly responseCode: number;

  /** `status`: the enhanced status code of RFC 3463. */
  constructor(responseCode: number, status: string, message: string) {
    super(`${status} ${message}`);
    this.responseCode = responseCode;
  }
}
