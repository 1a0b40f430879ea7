// What a proxy auto-configuration file may call, after Netscape's "Navigator Proxy Auto-Config File
// Format" and what browsers make of it, and what asks the file's FindProxyForURL.
//
// `native` takes and returns texts, and does what this can't do itself: 'addresses' of a host name and
// 'own' are lists of addresses separated by ';', 'within' (address, block) and 'sorted' (list) know
// addresses of both families, 'clock' is the time in milliseconds, 'log' writes to the log.
// `evaluate` runs a text as a script.
(function (native, evaluate) {
  'use strict';

  var global = globalThis;

  var DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
  var MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];

  function word(value) {
    return String(value).toUpperCase();
  }

  // Names of hosts.

  global.isPlainHostName = function (host) {
    return !/[.:]/.test(host);
  };

  global.dnsDomainIs = function (host, domain) {
    host = String(host);
    domain = String(domain);
    return host.length >= domain.length &&
      host.substring(host.length - domain.length) === domain;
  };

  global.localHostOrDomainIs = function (host, full) {
    return host === full || String(full).lastIndexOf(host + '.', 0) === 0;
  };

  global.dnsDomainLevels = function (host) {
    return String(host).split('.').length - 1;
  };

  // With '*' for any characters and '?' for one. In steps rather than as a regular expression, which
  // would take for ever where stars are many.
  global.shExpMatch = function (text, pattern) {
    text = String(text);
    pattern = String(pattern);
    var t = 0, p = 0, star = -1, from = 0;
    while (t < text.length) {
      if (pattern.charAt(p) === '*') {
        star = p;
        p += 1;
        from = t;
      } else if (pattern.charAt(p) === '?' || pattern.charAt(p) === text.charAt(t)) {
        p += 1;
        t += 1;
      } else if (star >= 0) {
        // The last star takes one more.
        from += 1;
        p = star + 1;
        t = from;
      } else {
        return false;
      }
    }
    while (pattern.charAt(p) === '*') {
      p += 1;
    }
    return p === pattern.length;
  };

  // Addresses: those without Ex are of IPv4 alone.

  function bytes(address) {
    var parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address);
    parts = parts && parts.slice(1).map(Number);
    var isOne = parts && parts.every(function (part) { return part <= 255; });
    return isOne ? parts : null;
  }

  function first(addresses) {
    var found = addresses.split(';').filter(bytes);
    return found.length > 0 ? found[0] : null;
  }

  function addresses(name) {
    return native('addresses', String(name));
  }

  global.dnsResolve = function (host) {
    return first(addresses(host));
  };

  global.isResolvable = function (host) {
    return global.dnsResolve(host) !== null;
  };

  global.myIpAddress = function () {
    return first(native('own')) || '127.0.0.1';
  };

  global.convert_addr = function (address) {
    var parts = bytes(address) || [0, 0, 0, 0];
    return parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3];
  };

  global.isInNet = function (host, pattern, mask) {
    var address = bytes(host) ? host : global.dnsResolve(host);
    if (address === null || !bytes(pattern) || !bytes(mask)) {
      return false;
    }
    var bits = global.convert_addr(mask);
    return (global.convert_addr(address) & bits) === (global.convert_addr(pattern) & bits);
  };

  // Microsoft's, for both families.

  global.dnsResolveEx = function (host) {
    return addresses(host);
  };

  global.isResolvableEx = function (host) {
    return global.dnsResolveEx(host) !== '';
  };

  global.myIpAddressEx = function () {
    return native('own');
  };

  global.isInNetEx = function (address, block) {
    return native('within', String(address), String(block)) !== '';
  };

  global.sortIpAddressList = function (list) {
    return native('sorted', String(list)) || false;
  };

  global.getClientVersion = function () {
    return '1.0';
  };

  // Times. A last argument of 'GMT' asks for UTC, else it is this machine's time zone.

  function asked(given) {
    var words = Array.prototype.slice.call(given);
    var isGmt = word(words[words.length - 1]) === 'GMT';
    if (isGmt) {
      words.pop();
    }
    var date = new Date(Number(native('clock')));
    function get(what) {
      return date[(isGmt ? 'getUTC' : 'get') + what]();
    }
    return { words: words, get: get };
  }

  // A range whose end is before its beginning goes through the end of the week, the year or the day.
  function isBetween(low, value, high) {
    return low <= high ? low <= value && value <= high : value >= low || value <= high;
  }

  global.weekdayRange = function () {
    var it = asked(arguments);
    var days = it.words.map(function (name) { return DAYS.indexOf(word(name)); });
    if (days.length < 1 || days.length > 2 || days.indexOf(-1) >= 0) {
      return false;
    }
    return isBetween(days[0], it.get('Day'), days[days.length - 1]);
  };

  // What one side of a range says of a date, as one number; and the same of the date that is.
  function dateNumber(words, get) {
    var sum = 0, now = 0, ofYear = false;
    for (var i = 0; i < words.length; i += 1) {
      var month = MONTHS.indexOf(word(words[i])), number = Number(words[i]);
      if (month >= 0) {
        sum += month * 100;
        now += get('Month') * 100;
      } else if (number >= 1 && number <= 31) {
        sum += number;
        now += get('Date');
      } else if (number > 31) {
        sum += number * 10000;
        now += get('FullYear') * 10000;
        ofYear = true;
      } else {
        return null;
      }
    }
    return { sum: sum, now: now, ofYear: ofYear };
  }

  global.dateRange = function () {
    var it = asked(arguments), count = it.words.length;
    var half = count === 1 ? 1 : count / 2;
    if (count < 1 || count > 6 || half !== Math.floor(half)) {
      return false;
    }
    var low = dateNumber(it.words.slice(0, half), it.get);
    var high = dateNumber(it.words.slice(count - half), it.get);
    // Years don't come again.
    if (!low || !high || low.now !== high.now || low.ofYear && low.sum > high.sum) {
      return false;
    }
    return isBetween(low.sum, low.now, high.sum);
  };

  // To the hour, the minute or the second, whichever is the finest that is said: all of the last one
  // is within.
  global.timeRange = function () {
    var it = asked(arguments), count = it.words.length;
    var half = count === 1 ? 1 : count / 2;
    if (count < 1 || count > 6 || half !== Math.floor(half)) {
      return false;
    }
    function timeNumber(parts) {
      return parts.reduce(function (sum, part) { return sum * 60 + Number(part); }, 0);
    }
    var now = [it.get('Hours'), it.get('Minutes'), it.get('Seconds')].slice(0, half);
    var low = timeNumber(it.words.slice(0, half)), high = timeNumber(it.words.slice(count - half));
    return isBetween(low, timeNumber(now), high);
  };

  global.alert = function (text) {
    native('log', String(text));
  };

  // An answer begins with '=', a failure with '!' and its line. Nothing is thrown, whatever a file
  // throws.
  function told(error) {
    try {
      // The engine does so where there isn't even memory for an error.
      if (error === null) {
        return '!0 it threw null, as it does when it needs too much memory';
      }
      // The innermost place in the file, which is evaluated as 'input'.
      var place = /\binput:(\d+)/.exec(error && error.stack);
      return '!' + (place ? place[1] : 0) + ' ' + error;
    } catch (again) {
      // There may be memory for an error, and none for its text.
      return '!0 it threw an error without a text, as it does when it needs too much memory';
    }
  }

  // As a name rather than as a property of the global object, so that one made by `const` counts.
  function isDefined() {
    return typeof FindProxyForURL === 'function';
  }

  return function (what, text, host) {
    try {
      if (what === 'load') {
        evaluate(text);
        return isDefined() ? '=' : '!0 it defines no function FindProxyForURL(url, host)';
      }
      var answer = FindProxyForURL(text, host);
      if (answer === null) {
        return '=DIRECT';
      }
      return typeof answer === 'string' ? '=' + answer : '=';
    } catch (error) {
      return told(error);
    }
  };
})
