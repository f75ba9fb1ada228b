// The typed client of Lockstep 1.0. Generated: copy client.js and client.d.ts into one folder of your project.
/** The service returned an error. Programs should check `code`; the message may change. */
export class LockstepError extends Error {
    constructor(status, body, retryAfter) {
        super(body.error);
        this.name = 'LockstepError';
        this.code = body.code;
        this.status = status;
        this.requestId = body.requestId;
        this.fieldErrors = body.fieldErrors ?? [];
        this.retryAfter = retryAfter;
    }
}
/** The response is not from the service, but from a proxy in front of it or from another server. */
export class NoResponseError extends Error {
    constructor(status, content, retryAfter) {
        super(`the response (status ${status}) is not one of this API: is the base URL right, and the service up?`);
        this.name = 'NoResponseError';
        this.status = status;
        this.content = content;
        this.retryAfter = retryAfter;
    }
}
export function makeClient(options) {
    const { baseUrl, token, fetch = globalThis.fetch, read = response => response.text(), retries = 2 } = options;
    const send = async (path, given, { signal, ifNoneMatch }) => {
        const condition = ifNoneMatch === undefined ? {} : { 'If-None-Match': ifNoneMatch };
        const response = await fetch(urlOf(baseUrl, path, given), {
            headers: { Authorization: `Bearer ${token}`, Accept: 'application/json', ...condition },
            // Not followed: it could send the token to another server.
            redirect: 'manual',
            ...(signal === undefined ? {} : { signal }),
        });
        const etag = response.headers.get('ETag') ?? undefined;
        if (response.status === 304)
            return { status: 304, data: undefined, etag, headers: response.headers };
        const text = await read(response);
        const body = parse(text);
        if (response.status === 200 && isEnvelope(body, true)) {
            // The service sends what the contract promises for the path; its tests hold it to that.
            return { status: 200, data: body.data, etag, headers: response.headers };
        }
        const retryAfter = secondsOf(response.headers.get('Retry-After'));
        if (!isEnvelope(body, false)) {
            const isPage = response.headers.get('Content-Type')?.includes('html') === true || /^\s*</.test(text);
            throw new NoResponseError(response.status, isPage ? 'page' : body === undefined ? 'other' : 'json', retryAfter);
        }
        // Every error of the service has these fields.
        throw new LockstepError(response.status, body, retryAfter);
    };
    const call = async (path, given = {}, options = {}) => {
        for (let left = retries;; left -= 1) {
            try {
                return await send(path, given, options);
            }
            catch (error) {
                if (left <= 0 || !(error instanceof LockstepError) || ![429, 503].includes(error.status))
                    throw error;
                await wait(error.retryAfter ?? 1, options.signal);
            }
        }
    };
    async function* all(path, given = {}, options = {}) {
        let cursor = '';
        while (cursor !== null) {
            const { data } = await call(path, { limit: 100, ...given, cursor }, options);
            // A page by cursor has this shape.
            const page = data;
            yield* page.data;
            cursor = page.pagination.nextCursor;
        }
    }
    return {
        async get(path, ...[given, options]) {
            // Only a response to If-None-Match has no data.
            return (await call(path, given, options)).data;
        },
        call: (path, ...[given, options]) => call(path, given, options),
        all: (path, ...[given, options]) => all(path, given, options),
    };
}
function urlOf(baseUrl, path, given) {
    // The parameters of the contract have these types only.
    const { id, ...parameters } = given;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters))
        if (value !== undefined)
            query.set(name, String(value));
    // The service reads a plus sign as itself, so a space must not be sent as one.
    const search = query.toString().replaceAll('+', '%20');
    return `${baseUrl.replace(/\/$/, '')}${path.replace(':id', String(id))}${search === '' ? '' : `?${search}`}`;
}
function wait(seconds, signal) {
    return new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const end = () => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', end);
            if (signal?.aborted === true)
                reject(signal.reason);
            else
                resolve();
        };
        const timer = setTimeout(end, seconds * 1000);
        signal?.addEventListener('abort', end);
    });
}
/** The header has seconds or a date. */
function secondsOf(header) {
    if (header === null)
        return undefined;
    const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
    return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
function parse(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return undefined;
    }
}
function isEnvelope(body, ok) {
    return typeof body === 'object' && body !== null && 'ok' in body && body.ok === ok && (ok ? 'data' : 'code') in body;
}
