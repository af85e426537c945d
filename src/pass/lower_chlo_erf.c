/* Error functions, their inverse, and the scaled Bessel function. Sources: rational approximations of erf and erfc in
 * double precision from Cephes (S. Moshier); of erf in single precision from Eigen; the inverse from M. Giles,
 * "Approximating the erfinv function"; erfc in single precision (relative error below 2e-8) and Chebyshev series of i1e
 * (2e-14) fitted for this file. */
#include <math.h>

#include "pass/lower_chlo_int.h"

/* --- erf --- */

static const double erf32_p[] = {0.00022905065861350646, 0.0034082910107109506, 0.050955695062380861,
                                 0.18520832239976145, 1.128379143519084};
static const double erf32_q[] = {-1.1791602954361697e-7,
                                 0.000023547966471313185,
                                 0.0010179625278914885,
                                 0.014070470171167667,
                                 0.11098505178285362,
                                 0.49746925110067538,
                                 1.0};
static const double erf64_t[] = {9.60497373987051638749E0, 9.00260197203842689217E1, 2.23200534594684319226E3,
                                 7.00332514112805075473E3, 5.55923013010394962768E4};
static const double erf64_u[] = {1.0,
                                 3.35617141647503099647E1,
                                 5.21357949780152679795E2,
                                 4.59432382970980127987E3,
                                 2.26290000613890934246E4,
                                 4.92673942608635921086E4};
static const double erfc64_p[] = {2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
                                  4.86371970985681366614E1,   1.96520832956077098242E2,  5.26445194995477358631E2,
                                  9.34528527171957607540E2,   1.02755188689515710272E3,  5.57535335369399327526E2};
static const double erfc64_q[] = {1.0,
                                  1.32281951154744992508E1,
                                  8.67072140885989742329E1,
                                  3.54937778887819891062E2,
                                  9.75708501743205489753E2,
                                  1.82390916687909736289E3,
                                  2.24633760818710981792E3,
                                  1.65666309194161350182E3,
                                  5.57535340817727675546E2};
static const double erfc64_r[] = {5.64189583547755073984E-1, 1.27536670759978104416E0, 5.01905042251180477414E0,
                                  6.16021097993053585195E0,  7.40974269950448939160E0, 2.97886665372100240670E0};
static const double erfc64_s[] = {1.0,
                                  2.26052863220117276590E0,
                                  9.39603524938001434673E0,
                                  1.20489539808096656605E1,
                                  1.70814450747565897222E1,
                                  9.60896809063285878198E0,
                                  3.36907645100081516050E0};
/* erf(x) / x of x^2, and e^(x^2) erfc(x) / t of t = 1 / (x + 1) */
static const double erfc32_near[] = {7.8538613e-05, -0.000801019361, 0.00518832768, -0.0268538119,
                                     0.112835851,   -0.376126258,    1.12837917};
static const double erfc32_far[] = {2.09099523,   -4.78130539, 3.54762694,  -0.0780732124, -0.870870568,
                                    -0.238457234, 0.276589757, 0.564539546, 0.564180629};

/* |x| < 1 */
static value erf_near(chlo *c, value x) {
    value square = mul(c, x, x);
    if (is_f64(c)) return mul(c, x, quo(c, POLY(c, square, erf64_t), POLY(c, square, erf64_u)));
    return mul(c, x, quo(c, POLY(c, square, erf32_p), POLY(c, square, erf32_q)));
}

/* |x| >= 1: e^(-x^2) times a function of |x|; 2 - that for negative x. */
static value erfc_far(chlo *c, value x) {
    value a = ir_abs(c->b, x), e = ir_exponential(c->b, neg(c, mul(c, x, x))), middle, far;
    if (is_f64(c)) {
        middle = mul(c, e, quo(c, POLY(c, a, erfc64_p), POLY(c, a, erfc64_q)));
        far = mul(c, e, quo(c, POLY(c, a, erfc64_r), POLY(c, a, erfc64_s)));
        middle = pick(c, cmp_num(c, IR_LT, a, 8), middle, far);
        /* e underflows before the quotients would turn into 0 * inf */
        middle = pick(c, cmp_num(c, IR_EQ, e, 0), num(c, 0), middle);
    } else {
        value t = quo(c, num(c, 1), add_num(c, a, 1));
        middle = mul(c, mul(c, e, t), POLY(c, t, erfc32_far));
    }
    return pick(c, cmp_num(c, IR_LT, x, 0), sub(c, num(c, 2), middle), middle);
}

value chlo_erf(chlo *c, value x) {
    if (is_f64(c))
        return pick(c, cmp_num(c, IR_LT, ir_abs(c->b, x), 1), erf_near(c, x), sub(c, num(c, 1), erfc_far(c, x)));
    /* The single-precision quotient holds up to where erf rounds to 1. */
    return erf_near(c, ir_clamp(c->b, num(c, -3.832506856900711), x, num(c, 3.832506856900711)));
}

value chlo_erfc(chlo *c, value x) {
    /* In single precision there is less to compute than for erf, whose quotient holds further out. */
    value near = is_f64(c) ? erf_near(c, x) : mul(c, x, POLY(c, mul(c, x, x), erfc32_near));
    return pick(c, cmp_num(c, IR_LT, ir_abs(c->b, x), 1), sub(c, num(c, 1), near), erfc_far(c, x));
}

/* --- erf_inv --- */

static const double inv32_near[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                    -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
static const double inv32_far[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                                   -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
static const double inv64_near[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,  1.115787767802518096e-17,
    -1.333171662854620906e-16,  2.0972767875968561637e-17,  6.6376381343583238325e-15,  -4.0545662729752068639e-14,
    -8.1519341976054721522e-14, 2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08, 4.2347877827932403518e-07,
    -1.3654692000834678645e-06, -1.3882523362786468719e-05, 0.0001867342080340571352,   -0.00074070253416626697512,
    -0.0060336708714301490533,  0.24015818242558961693,     1.6536545626831027356,
};
static const double inv64_middle[] = {
    2.2137376921775787049e-09,  9.0756561938885390979e-08, -2.7517406297064545428e-07, 1.8239629214389227755e-08,
    1.5027403968909827627e-06,  -4.013867526981545969e-06, 2.9234449089955446044e-06,  1.2475304481671778723e-05,
    -4.7318229009055733981e-05, 6.8284851459573175448e-05, 2.4031110387097893999e-05,  -0.0003550375203628474796,
    0.00095328937973738049703,  -0.0016882755560235047313, 0.0024914420961078508066,   -0.0037512085075692412107,
    0.005370914553590063617,    1.0052589676941592334,     3.0838856104922207635,
};
static const double inv64_far[] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,  -3.7894654401267369937e-09,
    7.6157012080783393804e-09,  -1.4960026627149240478e-08, 2.9147953450901080826e-08,  -6.7711997758452339498e-08,
    2.2900482228026654717e-07,  -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
    7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026, 1.0103004648645343977,
    4.8499064014085844221,
};

value chlo_erf_inv(chlo *c, value x) {
    value w = neg(c, ir_log_plus_one(c->b, neg(c, mul(c, x, x)))), root = ir_sqrt(c->b, w), p;
    if (is_f64(c)) {
        value near = POLY(c, add_num(c, w, -3.125), inv64_near);
        value middle = POLY(c, add_num(c, root, -3.25), inv64_middle), far = POLY(c, add_num(c, root, -5), inv64_far);
        p = pick(c, cmp_num(c, IR_LT, w, 6.25), near, pick(c, cmp_num(c, IR_LT, w, 16), middle, far));
    } else {
        p = pick(c, cmp_num(c, IR_LT, w, 5), POLY(c, add_num(c, w, -2.5), inv32_near),
                 POLY(c, add_num(c, root, -3), inv32_far));
    }
    value at_end = cmp_num(c, IR_EQ, ir_abs(c->b, x), 1);
    return pick(c, at_end, mul_num(c, x, INFINITY), mul(c, p, x));
}

/* --- bessel_i1e: I1(x) e^-|x| --- */

/* Series in Chebyshev polynomials, lowest first: i1e(x) / x over 4(t + 1) = x in [0, 8]; i1e(x) sqrt(x) over (t + 1) /
 * 16 = 1/x in (0, 1/8]. */
static const double i1e_small[] = {
    0.1262935932218168,      -0.17641651835783403,    0.10264365868984705,    -0.052945981208094954,
    0.024726449030626471,    -0.010564084894626158,   0.0041564229443128596,  -0.0015135724506312085,
    0.0005122859561685274,   -0.0001617608158259657,  4.7815651075418956e-05, -1.3273163655893433e-05,
    3.470251308147756e-06,   -8.5687202659487819e-07, 2.0032947532386294e-07, -4.4450591131377541e-08,
    9.3815372607723398e-09,  -1.8872498260101708e-09, 3.6255909511190331e-10, -6.6634835897103365e-11,
    1.1736201406867784e-11,  -1.9838973078402248e-12, 3.2224455969695779e-13, -5.03008897894037e-14,
    7.5205556639514927e-15,  -1.2045054149510855e-15, 3.1524618121026374e-16, -1.362325440716454e-16,
    -5.8767145880503358e-18, 1.8368756494156757e-17,
};
static const double i1e_large[] = {
    0.38928811750914005,     -0.0097610974913614236,  -0.00011058893876265032, -3.8825648088337237e-06,
    -2.5122362383951443e-07, -2.6314688478721834e-08, -3.8353803955504464e-09, -5.5897433508717053e-10,
    -1.8974991534021838e-11, 3.2525899765971193e-11,  1.4125759300549686e-11,  2.035736606820519e-12,
    -7.1982252824528026e-13, -4.0849985340988409e-13, -2.1061328967327724e-14, 4.278801163208612e-14,
    1.0242810289176618e-14,  -3.8441336702374485e-15, -1.8036427352466269e-15, 4.055187175638908e-16,
    3.6781315179598402e-16,  3.5932831688421929e-17,  -1.6595440079520676e-16, 1.2114180508336278e-16,
    3.3048049228310596e-17,
};

/* Clenshaw's recurrence. */
static value chebyshev(chlo *c, value t, const double *coeffs, size_t n) {
    value twice = mul_num(c, t, 2), b0 = num(c, 0), b1 = num(c, 0);
    for (size_t i = n - 1; i > 0; i--) {
        value next = add_num(c, sub(c, mul(c, twice, b0), b1), coeffs[i]);
        b1 = b0;
        b0 = next;
    }
    return add_num(c, sub(c, mul(c, t, b0), b1), coeffs[0]);
}

value chlo_bessel_i1e(chlo *c, value x) {
    value a = ir_abs(c->b, x), inverse = quo(c, num(c, 1), a);
    value small = mul(c, chebyshev(c, add_num(c, mul_num(c, a, 0.25), -1), i1e_small, BASE_COUNT(i1e_small)), a);
    value large = mul(c, chebyshev(c, add_num(c, mul_num(c, inverse, 16), -1), i1e_large, BASE_COUNT(i1e_large)),
                      ir_sqrt(c->b, inverse));
    return mul(c, ir_sign(c->b, x), pick(c, cmp_num(c, IR_LE, a, 8), small, large));
}
