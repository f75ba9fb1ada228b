// The typed client of Lockstep 1.0. Generated: copy client.js and client.d.ts into one folder of your project.
/** The rules a lock session starts from. */
export interface LockTemplate {
    /** Id of the template. */
    id: number;
    /** Id of the account that owns it. */
    ownerId: number;
    /** Name of the template. */
    name: string;
    /** Length of a session in seconds. */
    duration: number;
    /** Whether the length is random, between `minDuration` and `maxDuration`. */
    isRandomDuration: boolean;
    /** Shortest length in seconds; null when it is not random. */
    minDuration: number | null;
    /** Longest length in seconds; null when it is not random. */
    maxDuration: number | null;
    /** Whether breaks are enabled. */
    isBreakEnabled: boolean;
    /** Break regularity in seconds. */
    breakRegularity: number;
    /** Longest break in seconds. */
    breakMaximum: number;
    /** Break penalty in seconds. */
    breakPenalty: number;
    /** Whether breaks are for the keyholder only. */
    breakKeyholderOnly: boolean;
    /** Whether deepthroat is enabled. */
    isDeepthroatEnabled: boolean;
    /** Time that is taken off for deepthroat. The source does not say in which unit. */
    deepthroatTimeReduction: number;
    /** Whether shame is enabled. */
    isShameEnabled: boolean;
    /** Time that is added by shame. The source does not say in which unit. */
    shameTimeAdd: number;
    /** Whether emergency unlock is enabled. */
    isEmergencyUnlockEnabled: boolean;
    /** Whether it is public. Gives no access to other accounts. */
    isPublic: boolean;
    /** Whether it is publicly listed. Gives no access to other accounts. */
    isPubliclyListed: boolean;
    /** Whether it is for practice. Statistics leave its sessions out. */
    isTestLock: boolean;
    /** Whether the time is displayed. If not, `/status` and pages hide the planned end from the owner. */
    isTimeDisplayed: boolean;
    /** When it was created. */
    createdAt: string;
}
/** One period under lock, with its history. */
export interface LockSession {
    /** Id of the session. */
    id: number;
    /** Second id, as text. */
    bubbleId: string;
    /** Public id, as text. */
    publicId: string;
    /** Id of the account that owns it. */
    ownerId: number;
    /** Name of the session. */
    name: string;
    /** State of the lock. Known values: `pending`, `locked`, `break`, `completed`, `abandoned`. The set is open: expect values that are not listed here. */
    lockState: string;
    /** Length in seconds. */
    duration: number;
    /** When it started. */
    startDate: string;
    /** Whether the session is active. */
    isActive: boolean;
    /** The events of the session, ordered by time, then by id. */
    LockSegment: (LockSegment)[];
    /** When it ended, or, while `isActive`, when it is planned to end; null when neither is known. Absent when the source had none. */
    endDate?: string | null;
    /** When the record was created. Absent when the source had none. */
    createdAt?: string;
    /** Id of the lock template that it started from; null when unknown. Present with `include=template`. */
    templateId?: number | null;
}
/** An event in the history of a lock session. */
export interface LockSegment {
    /** Id of the event. */
    id: number;
    /** Type of the event. Known values: `start`, `locked`, `break`, `unlocked`. The set is open: expect values that are not listed here. */
    type: string;
    /** When it happened. */
    createdAt: string;
    /** Whether the lock was closed after it. */
    isLocked: boolean;
}
/** A training program with its segments. */
export interface TrainingTemplate {
    /** Id of the program; `settings_id` in the sessions that ran it. */
    id: number;
    /** Second id, as text. */
    bubbleId: string;
    /** Id of the account that owns it. */
    ownerId: number;
    /** Name of the program. */
    name: string;
    /** Description of the program. */
    description: string;
    /** Tagline of the program. */
    tagline: string;
    /** Message of the program. */
    message: string;
    /** Whether any caller with a subscription tier can read it by its id. */
    isPublic: boolean;
    /** Whether the program is active. */
    isActive: boolean;
    /** Whether hands-free mode is on. */
    handsFreeMode: boolean;
    /** Target position. The source does not say in which unit. */
    targetDepth: number;
    /** Tolerance around `targetDepth`, in the same unit. */
    targetWindow: number;
    /** Id of the device; null when no device is set. */
    toyId: number | null;
    /** When it was created. */
    createdDate: string;
    /** When it was last changed. */
    updatedAt: string;
    /** The segments of the program, in order. */
    Segment: (TemplateSegment)[];
    /** Tagline of the device; null for none. Absent when the source had none. */
    toyTagline?: string | null;
    /** Id of the icon; null for none. Absent when the source had none. */
    iconId?: number | null;
}
/** A training program as lists show it: without its segments. */
export interface TrainingTemplateSummary {
    /** Id of the program; `settings_id` in the sessions that ran it. */
    id: number;
    /** Second id, as text. */
    bubbleId: string;
    /** Id of the account that owns it. */
    ownerId: number;
    /** Name of the program. */
    name: string;
    /** Description of the program. */
    description: string;
    /** Tagline of the program. */
    tagline: string;
    /** Message of the program. */
    message: string;
    /** Whether any caller with a subscription tier can read it by its id. */
    isPublic: boolean;
    /** Whether the program is active. */
    isActive: boolean;
    /** Whether hands-free mode is on. */
    handsFreeMode: boolean;
    /** Target position. The source does not say in which unit. */
    targetDepth: number;
    /** Tolerance around `targetDepth`, in the same unit. */
    targetWindow: number;
    /** Id of the device; null when no device is set. */
    toyId: number | null;
    /** When it was created. */
    createdDate: string;
    /** When it was last changed. */
    updatedAt: string;
    /** Tagline of the device; null for none. Absent when the source had none. */
    toyTagline?: string | null;
    /** Id of the icon; null for none. Absent when the source had none. */
    iconId?: number | null;
}
/** A part of a training program. */
export interface TemplateSegment {
    /** Id of the segment. */
    id: number;
    /** Type of the segment. Known values: `warmup`, `training`, `repetition`, `endurance`, `freeform`, `bounce`. The set is open: expect values that are not listed here. */
    type: string;
    /** Length: repetitions for the types `repetition` and `bounce`, seconds for all others. */
    duration: number;
    /** How often the segment is run. */
    repeat: number;
    /** Place within the program. Absent when the source had none. */
    order?: number;
    /** Speed. The source does not say in which unit. Absent when it had none. */
    speed?: number;
    /** Whether the segment is graded. Absent when the source had none. */
    passFailEnabled?: boolean;
    /** Passing grade. Absent when the source had none. */
    passGradeThreshold?: number;
    /** Text when it is not passed; null for none. Absent when the source had none. */
    failureText?: string | null;
}
/** One training session with the results of its segments. */
export interface TrainingSession {
    /** Id of the session. */
    id: number;
    /** Second id, as text. */
    bubble_id: string;
    /** Name of the session. */
    name: string;
    /** Whether the session was passed. */
    passed: boolean;
    /** When it was recorded. */
    created_at: string;
    /** Id of the training device. */
    trainer_id: number;
    /** Id of the program (training template) that was run. */
    settings_id: number;
    /** The results of its segments, in order. */
    TrainerSegment: (TrainerSegment)[];
    /** Complete repetitions of the session: as recorded, else the sum over its segments. */
    repsMeasured: number;
    /** Metres moved along the depth axis, both directions added: as recorded, else the sum over its segments. Absent when no segment knows it. */
    distanceTravelled?: number;
    /** True if distances may be estimated (sessions of the legacy upload path). Absent otherwise. */
    distanceApproximate?: true;
    /** Id of the account that owns it. Present with `include=owner`. */
    ownerId?: number;
}
/** The result of one segment of a training session. */
export interface TrainerSegment {
    /** Id of the result. */
    id: number;
    /** Type of the segment. Known values: `warmup`, `training`, `repetition`, `endurance`, `freeform`, `bounce`. The set is open: expect values that are not listed here. */
    type: string;
    /** Whether the segment was passed. */
    passed: boolean;
    /** Grade in percent, usually 0 to 100; 0 when the segment was not graded. */
    percentGrade: number;
    /** Points of the segment. */
    points: number;
    /** Measured duration in seconds. */
    durationMeasured: number;
    /** Target duration in seconds. */
    durationTarget: number;
    /** Complete repetitions: a full cycle of two strokes, half of what the device counts. */
    repsMeasured: number;
    /** Target number of repetitions. */
    repsTarget: number;
    /** Metres moved along the depth axis, both directions added. Absent when the source had none. */
    distanceTravelled?: number;
    /** Place within the session. Absent when the source had none. */
    order?: number | null;
    /** Milliseconds in the target zone, cumulative. Absent when the source had none. */
    longestDeepthroat?: number | null;
    /** Stroke length in millimetres. Absent when the source had none. */
    strokeLength?: number | null;
    /** Measured speed. The source does not say in which unit. Absent when it had none. */
    speedMeasured?: number | null;
}
/** A lock device. */
export interface LockDevice {
    /** Id of the device. */
    id: number;
    /** Second id, as text. */
    bubbleId: string;
    /** MAC address. */
    macAddress: string;
    /** Id of the account that owns it. */
    ownerId: number;
    /** Whether the device is locked. */
    locked: boolean;
    /** Hue shift; 0 when unknown. */
    hueShift: number;
    /** When the device last visited; null when unknown. */
    lastVisited: string | null;
}
/** A training device. */
export interface TrainingDevice {
    /** Id of the device. */
    id: number;
    /** Second id, as text. */
    bubbleId: string;
    /** Id of the account that owns it. */
    ownerId: number;
    /** MAC address. */
    macAddress: string;
    /** Serial number; 0 when unknown. */
    serialNumber: number;
    /** Software version. */
    softwareVersion: string;
    /** When the device last visited; null when unknown. */
    lastVisited: string | null;
    /** API hits of the device; 0 when unknown. */
    apiHits: number;
    /** Time of its last log; null when unknown. Absent when the source had none. */
    lastLogAt?: string | null;
}
/** A person: the caller, or somebody linked to the caller. */
export interface User {
    /** Id of the account. */
    id: number;
    /** Name of the account: unique, and never all digits. */
    username: string;
    /** Type of the account. Grants nothing here. */
    accountType: "user" | "support" | "admin" | "superadmin";
    /** Subscription tier; null when there is none. Known values: `ultra`, `pioneer`, `founder`, `employee`. The set is open: expect values that are not listed here. */
    subscriptionTier: string | null;
    /** League; 0 when unknown. */
    league: number;
    /** Rank; 0 when unknown. */
    rank: number;
    /** Points in total; 0 when unknown. */
    totalPoints: number;
    /** Points from matches; 0 when unknown. */
    matchPoints: number;
    /** Address or name of the profile image; null for none. */
    profileImage: string | null;
    /** Description on the profile; null for none. */
    profileDescription: string | null;
    /** Title on the profile; null for none. */
    profileTitle: string | null;
}
/** The caller's own account. */
export interface Account {
    /** Id of the account. */
    id: number;
    /** Name of the account: unique, and never all digits. */
    username: string;
    /** Type of the account. Grants nothing here. */
    accountType: "user" | "support" | "admin" | "superadmin";
    /** Subscription tier; null when there is none. Known values: `ultra`, `pioneer`, `founder`, `employee`. The set is open: expect values that are not listed here. */
    subscriptionTier: string | null;
    /** League; 0 when unknown. */
    league: number;
    /** Rank; 0 when unknown. */
    rank: number;
    /** Points in total; 0 when unknown. */
    totalPoints: number;
    /** Points from matches; 0 when unknown. */
    matchPoints: number;
    /** Address or name of the profile image; null for none. */
    profileImage: string | null;
    /** Description on the profile; null for none. */
    profileDescription: string | null;
    /** Title on the profile; null for none. */
    profileTitle: string | null;
    /** When the tier ends; null when it does not. */
    subscriptionEndsAt: string | null;
}
/** An API key, without its secret. */
export interface Token {
    /** Id of the key. */
    id: number;
    /** Name given to it. */
    name: string;
    /** The last four characters of the key. */
    last4: string;
    /** What it may read. */
    scopes: ("lkbx:read" | "dtt:read" | "status:read" | "shared:access")[];
    /** When it was created. */
    createdAt: string;
    /** When it stops working; null when it does not expire. */
    expiresAt: string | null;
    /** When it was last used, to the minute; null before its first use. */
    lastUsedAt: string | null;
}
/** Access given and received. */
export interface AccessLists {
    /** Who may read the caller's records. */
    given: (GivenAccess)[];
    /** Whose records the caller may read. */
    received: (ReceivedAccess)[];
}
/** Access to the caller's records that the caller gave. */
export interface GivenAccess {
    /** Id of the other account; null until that account has read, so that it does not show whether the username exists. */
    accountId: number | null;
    /** Its name. */
    username: string;
    /** Which records may be read. */
    areas: ("lkbx" | "dtt")[];
    /** The first day (UTC) of which sessions may be read; null for all. */
    recordsFrom: string | null;
    /** When it ends; null when it does not. */
    until: string | null;
    /** When it was given; null when that is not known. */
    since: string | null;
    /** The start of the hour in which the other account last read; null if it has not, as far as is known. */
    lastReadAt: string | null;
}
/** Access that the caller received. */
export interface ReceivedAccess {
    /** Id of the other account. */
    accountId: number;
    /** Its name. */
    username: string;
    /** Which records may be read. */
    areas: ("lkbx" | "dtt")[];
    /** The first day (UTC) of which sessions may be read; null for all. */
    recordsFrom: string | null;
    /** When it ends; null when it does not. */
    until: string | null;
    /** When it was given; null when that is not known. */
    since: string | null;
}
/** How often somebody read the caller's records in an hour, in one way. Where only the number of reads is known, only `id`, `hour` and `count` are not null. */
export interface Read {
    /** Id of the entry. */
    id: number;
    /** The start of the hour. */
    hour: string;
    /** Id of the account that read; null for the operator. */
    readerId: number | null;
    /** Its name; `operator` for the operator, `removed account` once it is removed. */
    reader: string | null;
    /** How: with an API key, on a page of the dashboard, or by a command on the server. */
    via: "token" | "dashboard" | "operator" | null;
    /** The name of the API key, of the caller's own keys; null for others. */
    tokenName: string | null;
    /** Which records. */
    area: "lkbx" | "dtt" | null;
    /** What was read: rows of a list, one record, statistics, or an export. */
    kind: "list" | "record" | "statistics" | "export" | null;
    /** How often. */
    count: number;
}
/** The present state. A field is null if nothing is known, or if the caller may not read that area. */
export interface Status {
    /** Id of the account it is about. */
    ownerId: number;
    /** The time zone of days and weeks: as it was sent, else that of the caller. */
    timeZone: string;
    /** Up to when the records are known, rounded down to the full hour; null if that is not known. */
    asOf: string | null;
    /** Whether the lock is closed now: false in a break, and where no lock session is active. */
    locked: boolean | null;
    /** The `lockState` of the active lock session; `idle` where none is active. Known values: `pending`, `locked`, `break`, `completed`, `abandoned`, `idle`. The set is open: expect values that are not listed here. */
    lockState: string | null;
    /** When the active lock session started. */
    lockedSince: string | null;
    /** When its present interval started, such as a break. */
    stateSince: string | null;
    /** When it is planned to end; null also where the time is hidden. */
    plannedEnd: string | null;
    /** Whether `plannedEnd` has passed. The lock session is active all the same: only its record ends it. Null where `plannedEnd` is. */
    plannedEndPassed: boolean | null;
    /** Whether its template hides the time from its owner, and so this response does. */
    timeHidden: boolean | null;
    /** Whether its template is for practice; null where the template is not known. */
    practiceLock: boolean | null;
    /** When the newest training session was recorded. */
    lastSessionAt: string | null;
    /** Whether it was passed. */
    lastSessionPassed: boolean | null;
    /** The mean grade of its graded segments, rounded half up. */
    lastSessionGradePercent: number | null;
    /** Its complete repetitions. */
    lastSessionReps: number | null;
    /** Metres moved in it; null where no distance is known. */
    lastSessionMeters: number | null;
    /** Training sessions of today. */
    sessionsToday: number | null;
    /** Training sessions of this week, which begins on Monday. */
    sessionsThisWeek: number | null;
    /** Complete repetitions of this week. */
    repsThisWeek: number | null;
    /** Metres moved this week, estimated ones included; null where no distance is known. */
    metersThisWeek: number | null;
    /** Days in a row with a training session, up to today or yesterday. */
    streakDays: number | null;
    /** The most days in a row with a training session. */
    longestStreakDays: number | null;
    /** The best mean grade of a training session. */
    bestGradePercent: number | null;
    /** Seconds since `lockedSince`. Present with `relative=seconds`. */
    lockedSeconds?: number | null;
    /** Seconds until `plannedEnd`; null once it has passed. They stand still during a freeze. Present with `relative=seconds`. */
    remainingSeconds?: number | null;
    /** Seconds since the exact time of `asOf`. Present with `relative=seconds`. */
    asOfSeconds?: number | null;
}
/** Training by hours, days, weeks or months. */
export interface TrainingStatistics {
    /** The time zone of days and weeks: as it was sent, else that of the caller. */
    timeZone: string;
    /** The day that weeks begin with. */
    weekStart: "monday" | "sunday";
    /** First day of the range. */
    from: string;
    /** Last day of the range. */
    to: string;
    /** Up to when the records are known, rounded down to the full hour; null if that is not known. */
    asOf: string | null;
    /** What the statistics of a range are computed from, and what they leave out. */
    sources: {
        /** Sessions that count in the range. */
        sessions: number;
        /** Practice locks of the range, which do not count. */
        practiceSessions: number;
        /** Lock sessions that count although their template is not known: it could be for practice. */
        unknownTemplate: number;
        /** Training segments without a grade, which `grades` does not count. */
        ungradedSegments: number;
    };
    /** Training of the whole range. */
    total: {
        /** Training sessions. */
        sessions: number;
        /** Those of them that were passed. */
        passed: number;
        /** Days with a training session. */
        days: number;
        /** Complete repetitions. */
        repsMeasured: number;
        /** Metres that were measured. */
        distanceMeters: number;
        /** Metres that may be estimated: those of the legacy upload path. Not in `distanceMeters`. */
        distanceApproximateMeters: number;
        /** Sessions of which no distance is known. */
        distanceUnknownSessions: number;
        /** Seconds in segments. */
        durationMeasured: number;
        /** Points of segments. */
        points: number;
        /** Grades by type of segment, in the order of the names; types without graded segments are left out. */
        grades: (GradeStatistics)[];
    };
    /** The buckets of the range, without gaps, the oldest first. */
    buckets: (TrainingBucket)[];
    /** Days in a row with a training session, over all time. */
    streak: {
        /** Up to today; up to yesterday while today has none yet. */
        currentDays: number;
        /** Length of the longest streak. */
        longestDays: number;
        /** First day of the longest; the latest of equals. */
        longestFrom: string | null;
        /** Last day of the longest. */
        longestTo: string | null;
    };
}
/** Training of one bucket. */
export interface TrainingBucket {
    /** Its day, or the first day of the week or month, even if the range begins later. */
    date: string;
    /** When it starts, within the range. */
    start: string;
    /** When it ends, within the range. */
    end: string;
    /** Whether it is not over yet. */
    partial: boolean;
    /** Training sessions. */
    sessions: number;
    /** Those of them that were passed. */
    passed: number;
    /** Days with a training session. */
    days: number;
    /** Complete repetitions. */
    repsMeasured: number;
    /** Metres that were measured. */
    distanceMeters: number;
    /** Metres that may be estimated: those of the legacy upload path. Not in `distanceMeters`. */
    distanceApproximateMeters: number;
    /** Sessions of which no distance is known. */
    distanceUnknownSessions: number;
    /** Seconds in segments. */
    durationMeasured: number;
    /** Points of segments. */
    points: number;
    /** Grades by type of segment, in the order of the names; types without graded segments are left out. */
    grades: (GradeStatistics)[];
}
/** Locks by hours, days, weeks or months. */
export interface LockStatistics {
    /** The time zone of days and weeks: as it was sent, else that of the caller. */
    timeZone: string;
    /** The day that weeks begin with. */
    weekStart: "monday" | "sunday";
    /** First day of the range. */
    from: string;
    /** Last day of the range. */
    to: string;
    /** Up to when the records are known, rounded down to the full hour; null if that is not known. */
    asOf: string | null;
    /** What the statistics of a range are computed from, and what they leave out. */
    sources: {
        /** Sessions that count in the range. */
        sessions: number;
        /** Practice locks of the range, which do not count. */
        practiceSessions: number;
        /** Lock sessions that count although their template is not known: it could be for practice. */
        unknownTemplate: number;
        /** Training segments without a grade, which `grades` does not count. */
        ungradedSegments: number;
    };
    /** Locks of the whole range. */
    total: {
        /** Lock sessions that started. */
        started: number;
        /** Lock sessions that ended. */
        ended: number;
        /** Seconds in which a lock was closed. Time counts once, however many sessions overlap. */
        lockedSeconds: number;
        /** Seconds in which no lock was closed, and one was in a break. */
        breakSeconds: number;
        /** Seconds within a session in which no lock was closed or in a break. */
        openSeconds: number;
        /** The longest time without interruption in which a lock was closed, as far as it lies here. */
        longestLockedSeconds: number;
        /** `lockedSeconds` of the time that has passed here, in percent with one decimal; null where none has. */
        lockedPercent: number | null;
    };
    /** The buckets of the range, without gaps, the oldest first. */
    buckets: (LockBucket)[];
}
/** Locks of one bucket. */
export interface LockBucket {
    /** Its day, or the first day of the week or month, even if the range begins later. */
    date: string;
    /** When it starts, within the range. */
    start: string;
    /** When it ends, within the range. */
    end: string;
    /** Whether it is not over yet. */
    partial: boolean;
    /** Lock sessions that started. */
    started: number;
    /** Lock sessions that ended. */
    ended: number;
    /** Seconds in which a lock was closed. Time counts once, however many sessions overlap. */
    lockedSeconds: number;
    /** Seconds in which no lock was closed, and one was in a break. */
    breakSeconds: number;
    /** Seconds within a session in which no lock was closed or in a break. */
    openSeconds: number;
    /** The longest time without interruption in which a lock was closed, as far as it lies here. */
    longestLockedSeconds: number;
    /** `lockedSeconds` of the time that has passed here, in percent with one decimal; null where none has. */
    lockedPercent: number | null;
}
/** The grades of the graded segments of one type. */
export interface GradeStatistics {
    /** Type of the segments. Known values: `warmup`, `training`, `repetition`, `endurance`, `freeform`, `bounce`. The set is open: expect values that are not listed here. */
    type: string;
    /** Graded segments. */
    segments: number;
    /** Those of them that were passed. */
    passed: number;
    /** Mean grade, with one decimal. */
    mean: number;
    /** Median grade, by nearest rank. */
    median: number;
    /** 90th percentile of the grades, by nearest rank. */
    p90: number;
    /** Lowest grade. */
    min: number;
    /** Highest grade. */
    max: number;
}
export interface OffsetPagination {
    /** The limit that was applied. */
    limit: number;
    /** The offset that was applied. */
    offset: number;
}
export interface CursorPagination {
    /** The limit that was applied. */
    limit: number;
    /** The cursor of the next page; null at the end of the list. */
    nextCursor: string | null;
}
/** A parameter that is wrong. */
export interface FieldError {
    /** Its name; `query` if the name is unknown. */
    field: string;
    /** What is wrong with it. */
    message: string;
}
/** What an error is; see `LockstepError`. */
export type ErrorCode = 'invalid_request' | 'invalid_parameter' | 'unknown_parameter' | 'repeated_parameter' | 'malformed_url' | 'malformed_request' | 'missing_token' | 'invalid_token' | 'token_revoked' | 'token_expired' | 'subscription_required' | 'insufficient_scope' | 'owner_not_accessible' | 'not_found' | 'no_route' | 'method_not_allowed' | 'request_timeout' | 'misdirected_request' | 'rate_limited' | 'headers_too_large' | 'internal_error' | 'unavailable';
/** What a caller of each path passes and receives; `item` is a record of a list. */
export interface Endpoints {
    /** List lock templates */
    '/api/v1/lkbx/templates': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
            ownerId?: number | "me";
            targetUserId?: number | "me";
        };
        data: {
            /** The records of this page. */
            data: (LockTemplate)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: LockTemplate;
    };
    /** Get the template of the active lock session */
    '/api/v1/lkbx/templates/active': {
        params: {
            ownerId?: number | "me";
            targetUserId?: number | "me";
        };
        data: LockTemplate | null;
        item: never;
    };
    /** Get one lock template */
    '/api/v1/lkbx/templates/:id': {
        params: {
            id: number;
        };
        data: LockTemplate;
        item: never;
    };
    /** List lock sessions */
    '/api/v1/lkbx/sessions': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
            ownerId?: number | "me";
            targetUserId?: number | "me";
            from?: string;
            to?: string;
            lockState?: string;
            include?: "template";
        };
        data: {
            /** The records of this page. */
            data: (LockSession)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: LockSession;
    };
    /** Get the newest lock session */
    '/api/v1/lkbx/sessions/latest': {
        params: {
            ownerId?: number | "me";
            targetUserId?: number | "me";
            include?: "template";
        };
        data: LockSession | null;
        item: never;
    };
    /** Get one lock session */
    '/api/v1/lkbx/sessions/:id': {
        params: {
            id: number;
            include?: "template";
        };
        data: LockSession;
        item: never;
    };
    /** Get the active lock session */
    '/api/v1/lkbx/session/current': {
        params: {
            ownerId?: number | "me";
            targetUserId?: number | "me";
            include?: "template";
        };
        data: LockSession | null;
        item: never;
    };
    /** List training templates */
    '/api/v1/dtt/templates': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
            ownerId?: number | "me";
            targetUserId?: number | "me";
        };
        data: {
            /** The records of this page. */
            data: (TrainingTemplateSummary)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: TrainingTemplateSummary;
    };
    /** Get the active training template */
    '/api/v1/dtt/templates/active': {
        params: {
            ownerId?: number | "me";
            targetUserId?: number | "me";
        };
        data: TrainingTemplate | null;
        item: never;
    };
    /** Get one training template */
    '/api/v1/dtt/templates/:id': {
        params: {
            id: number;
        };
        data: TrainingTemplate;
        item: never;
    };
    /** List training sessions */
    '/api/v1/dtt/sessions': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
            ownerId?: number | "me";
            targetUserId?: number | "me";
            from?: string;
            to?: string;
            passed?: boolean;
            include?: "owner";
        };
        data: {
            /** The records of this page. */
            data: (TrainingSession)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: TrainingSession;
    };
    /** Get the newest training session */
    '/api/v1/dtt/sessions/latest': {
        params: {
            ownerId?: number | "me";
            targetUserId?: number | "me";
            include?: "owner";
        };
        data: TrainingSession | null;
        item: never;
    };
    /** Get one training session */
    '/api/v1/dtt/sessions/:id': {
        params: {
            id: number;
            include?: "owner";
        };
        data: TrainingSession;
        item: never;
    };
    /** List lock devices */
    '/api/v1/lkbx': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
            ownerId?: number | "me";
            targetUserId?: number | "me";
        };
        data: {
            /** The records of this page. */
            data: (LockDevice)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: LockDevice;
    };
    /** Get one lock device */
    '/api/v1/lkbx/:id': {
        params: {
            id: number;
        };
        data: LockDevice;
        item: never;
    };
    /** List training devices */
    '/api/v1/dtt': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
            ownerId?: number | "me";
            targetUserId?: number | "me";
        };
        data: {
            /** The records of this page. */
            data: (TrainingDevice)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: TrainingDevice;
    };
    /** Get one training device */
    '/api/v1/dtt/:id': {
        params: {
            id: number;
        };
        data: TrainingDevice;
        item: never;
    };
    /** List people */
    '/api/v1/users': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
        };
        data: {
            /** The records of this page. */
            data: (User)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: User;
    };
    /** Get the caller */
    '/api/v1/users/me': {
        params: {};
        data: User;
        item: never;
    };
    /** Get one person */
    '/api/v1/users/:id': {
        params: {
            id: number;
        };
        data: User;
        item: never;
    };
    /** Get the account and the API key in use */
    '/api/v1/me': {
        params: {};
        data: {
            account: Account;
            token: Token;
        };
        item: never;
    };
    /** List access given and received */
    '/api/v1/me/access': {
        params: {};
        data: AccessLists;
        item: never;
    };
    /** List who read */
    '/api/v1/me/reads': {
        params: {
            limit?: number;
            offset?: number;
            cursor?: string;
            readerId?: number;
            from?: string;
            to?: string;
        };
        data: {
            /** The records of this page. */
            data: (Read)[];
            /** The position of this page: `limit` and `offset` as applied, or `nextCursor` with a cursor. */
            pagination: OffsetPagination | CursorPagination;
        };
        item: Read;
    };
    /** Get the status */
    '/api/v1/status': {
        params: {
            ownerId?: number | "me";
            targetUserId?: number | "me";
            tz?: string;
            relative?: "seconds";
        };
        data: Status;
        item: never;
    };
    /** Get training by hours, days, weeks or months */
    '/api/v1/dtt/stats': {
        params: {
            bucket?: "week" | "hour" | "day" | "month";
            from?: string;
            to?: string;
            tz?: string;
            weekStart?: "monday" | "sunday";
            ownerId?: number | "me";
            targetUserId?: number | "me";
            type?: string;
            programId?: number;
        };
        data: TrainingStatistics;
        item: never;
    };
    /** Get locks by hours, days, weeks or months */
    '/api/v1/lkbx/stats': {
        params: {
            bucket?: "week" | "hour" | "day" | "month";
            from?: string;
            to?: string;
            tz?: string;
            weekStart?: "monday" | "sunday";
            ownerId?: number | "me";
            targetUserId?: number | "me";
        };
        data: LockStatistics;
        item: never;
    };
}
/** A typed client of the API. Its types come from the contract; at run time it needs only `fetch`. */
export type Path = keyof Endpoints;
/** Paths that return a page of a list. */
export type ListPath = {
    [P in Path]: [Endpoints[P]['item']] extends [never] ? never : P;
}[Path];
type Given<A, Options> = {} extends A ? [given?: A, options?: Options] : [given: A, options?: Options];
export interface ClientOptions {
    /** Where the service is, such as `https://history.example`. */
    readonly baseUrl: string;
    readonly token: string;
    /** How requests are made; the platform's `fetch` if not given. */
    readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
    /** How the text of a response is read, for callers that bound it; whole if not given. */
    readonly read?: (response: Response) => Promise<string>;
    /** How often a request is sent again after 429 or 503, each time after the seconds in `Retry-After`; 2 if not given. */
    readonly retries?: number;
}
export interface GetOptions {
    readonly signal?: AbortSignal;
}
export interface CallOptions extends GetOptions {
    /** The `etag` of a stored response: while that is current, the new response has no data. */
    readonly ifNoneMatch?: string;
}
/** A response; `data` is undefined if the stored one is still current (304). */
export interface ApiResponse<D> {
    readonly status: 200 | 304;
    readonly data: D | undefined;
    readonly etag: string | undefined;
    readonly headers: Headers;
}
/** The service returned an error. Programs should check `code`; the message may change. */
export declare class LockstepError extends Error {
    readonly name = "LockstepError";
    readonly code: ErrorCode;
    readonly status: number;
    readonly requestId: string | undefined;
    readonly fieldErrors: readonly FieldError[];
    /** Seconds to wait before the next try, where the service says so. */
    readonly retryAfter: number | undefined;
    constructor(status: number, body: ErrorBody, retryAfter: number | undefined);
}
/** The response is not from the service, but from a proxy in front of it or from another server. */
export declare class NoResponseError extends Error {
    readonly name = "NoResponseError";
    readonly status: number;
    /** What the response is: a web page, JSON of something else, or anything else. */
    readonly content: 'page' | 'json' | 'other';
    /** Seconds to wait before the next try, where the response says so. */
    readonly retryAfter: number | undefined;
    constructor(status: number, content: NoResponseError['content'], retryAfter: number | undefined);
}
export interface Client {
    /** The `data` of a response. Rejects with LockstepError, NoResponseError, or what `fetch` rejects with. */
    get<P extends Path>(path: P, ...rest: Given<Endpoints[P]['params'], GetOptions>): Promise<Endpoints[P]['data']>;
    /** The whole response, for callers that store responses with their validators. */
    call<P extends Path>(path: P, ...rest: Given<Endpoints[P]['params'], CallOptions>): Promise<ApiResponse<Endpoints[P]['data']>>;
    /** Every record of a list, page by page, none twice and none missed while others are added. */
    all<P extends ListPath>(path: P, ...rest: Given<Omit<Endpoints[P]['params'], 'offset' | 'cursor'>, GetOptions>): AsyncGenerator<Endpoints[P]['item']>;
}
export declare function makeClient(options: ClientOptions): Client;
interface ErrorBody {
    readonly error: string;
    readonly code: ErrorCode;
    readonly requestId?: string;
    readonly fieldErrors?: readonly FieldError[];
}
export {};
